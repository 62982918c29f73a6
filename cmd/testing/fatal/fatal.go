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
