// Package fatal ends a test that cannot go on.
package fatal

import (
	"errors"
	"testing"
)

// If ends the test if there is an error among these.
func If(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// IfShort skips the test where only short ones are to run, as under the race
// detector: it computes much and shares nothing.
func IfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
}
