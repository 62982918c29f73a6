package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/command"
)

// TestAFileThatShrinksUnderTheProgram stops memtop while it reads a file, which
// the kernel shows, cuts the file, and lets memtop go on.
func TestAFileThatShrinksUnderTheProgram(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content := append([]byte("\x80\x04"), bytes.Repeat([]byte("N0"), 32<<20)...)
	for range 10 { // on a busy machine memtop may be done before it was seen to begin
		path := filepath.Join(t.TempDir(), "long.pickle")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		memtop := exec.CommandContext(t.Context(), program, "report", path)
		memtop.Args[0] = "memtop"
		var stderr bytes.Buffer
		memtop.Stderr = &stderr
		if err := memtop.Start(); err != nil {
			t.Fatal(err)
		}
		cut := stoppedWithin(memtop.Process.Pid, path, int64(len(content))) && os.Truncate(path, 1000) == nil
		_ = memtop.Process.Signal(syscall.SIGCONT) // it may have ended
		_ = memtop.Wait()                          // its exit code is looked at next
		if !cut {
			continue
		}
		if got := memtop.ProcessState.ExitCode(); got != command.ExitCorrupt {
			t.Errorf("exit code %d, want %d", got, command.ExitCorrupt)
		}
		want := fmt.Sprintf("memtop: %s: it changed while it was read, from %d to 1000 bytes; ", path, len(content))
		if got := stderr.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("standard error is %q, want one line that begins with %q", got, want)
		}
		return
	}
	t.Skip("memtop was never seen reading")
}

// aLook is more than memtop reads of a file to see what it is, before it opens it to
// read it.
const aLook = 64 << 10

// stoppedWithin stops a process once it has read a part of a file, and reports
// whether it has not read all of it.
func stoppedWithin(pid int, path string, size int64) bool {
	for at := int64(0); at <= aLook; at = place(pid, path) {
		if state(pid) == "Z" {
			return false
		}
	}
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	for state(pid) != "T" {
		if state(pid) == "Z" {
			return false
		}
	}
	return place(pid, path) < size
}

// place returns how far a process has read a file that it has open.
func place(pid int, path string) (at int64) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == path {
			info, _ := os.ReadFile(strings.Replace(link, "/fd/", "/fdinfo/", 1))
			_, _ = fmt.Sscanf(string(info), "pos:\t%d", &at) // 0 when it was closed
		}
	}
	return at
}

// state returns the letter of what a process is doing, Z when it has ended.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := bytes.Cut(stat, []byte(") "))
	if err != nil || len(after) == 0 {
		return "Z"
	}
	return string(after[:1])
}
