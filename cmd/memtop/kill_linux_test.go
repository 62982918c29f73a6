package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/killtest"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
)

// TestKillingAnExportLeavesAWholeFile kills memtop export at random moments.
// What it was to write is there whole, or what was there before; nothing else is
// left.
func TestKillingAnExportLeavesAWholeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	input := filepath.Join(t.TempDir(), "large.pickle")
	writeSnapshot(t, input, pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 20_000}))
	folder := t.TempDir()
	path := filepath.Join(folder, "out.csv")
	export := startMemtop(t, "export", input, "-o", path)
	killtest.AwaitWriting(export.Process, folder)
	began := time.Now()
	if err := export.Wait(); err != nil {
		t.Fatal(err)
	}
	takes := time.Since(began)
	want := readFile(t, path)
	var moments killtest.Moments
	var left killtest.Leftovers
	before := map[bool][]byte{true: []byte("what was there"), false: nil}
	for i := range killtest.Times(t) {
		there := before[i%2 == 0]
		replaceFile(t, path, there)
		export := startMemtop(t, "export", input, "-o", path, "--force")
		killtest.AwaitWriting(export.Process, folder)
		moments.Strike(t, export.Process, folder, takes)
		_ = export.Wait() // it was killed, or has ended
		if got, err := os.ReadFile(path); err == nil && !bytes.Equal(got, want) && !bytes.Equal(got, there) || err != nil && there != nil {
			t.Errorf("the file has %d bytes, want %d or %d (%v)", len(got), len(want), len(there), err)
		}
		left = append(left, moments.Look(t, folder, "out.csv")...)
	}
	t.Log(moments)
	if err := startMemtop(t, "export", input, "-o", path, "--force").Wait(); err != nil {
		t.Fatal(err)
	}
	left.WantGone(t)
}

// startMemtop starts the test binary as memtop; see TestMain.
func startMemtop(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, arguments...)
	c.Args[0], c.Stderr = "memtop", os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// replaceFile makes a file of that content, or none for nil.
func replaceFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if content == nil {
		return
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
