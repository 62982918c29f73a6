// Package fatal ends a test that cannot go on.
package fatal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// If ends the test if there is an error among these.
func If(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Read returns a file's content.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	If(t, err)
	return content
}

// Write writes a file into a folder of its own, and returns its path.
func Write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	If(t, os.WriteFile(path, content, 0o600))
	return path
}

// IfShort skips the test where only short ones are to run, as under the race
// detector: it computes much and shares nothing.
func IfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
}
