// Package killtest kills programs while they write files, to test that no data is
// lost and no temporary file is left behind.
package killtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// Times returns how often a test is to kill: $MEMTOP_TEST_KILLS, or else a few
// times.
func Times(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MEMTOP_TEST_KILLS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal("$MEMTOP_TEST_KILLS: ", err)
	}
	return n
}

// Moments counts what a program was doing when the test killed it.
type Moments struct {
	Idle    int // no file was being written
	Writing int // there was one that had no name in its folder
	Named   int // there was one beside its place
	Left    int // it left something, for the next write to remove
}

// String returns the counts for a test's log.
func (m Moments) String() string {
	return fmt.Sprintf("%d killed while writing, %d of them with a name and %d that left one; %d at other times",
		m.Writing+m.Named, m.Named, m.Left, m.Idle)
}

// Strike kills a process at a random moment within a time from now, and counts
// the file that it was writing in a folder. The caller waits for the process.
func (m *Moments) Strike(t *testing.T, process *os.Process, folder string, within time.Duration) {
	t.Helper()
	<-time.After(rand.N(within))
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		m.Idle++ // it has ended
		return
	}
	switch path := writing(process.Pid, folder); {
	case path == "":
		m.Idle++
	case strings.HasSuffix(path, " (deleted)"):
		m.Writing++
	case strings.HasPrefix(filepath.Base(path), "."):
		m.Named++
	default: // it is in its place
		m.Idle++
	}
	if err := process.Kill(); err != nil {
		t.Error(err)
	}
}

// writing returns the file of a folder that a process has open for writing, as
// the system calls it, and "" for none.
func writing(pid int, folder string) string {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // an ended process has none
	for _, name := range names {
		path, err := os.Readlink(name)
		info, statErr := os.Lstat(name) // its mode is how it is open
		if err == nil && statErr == nil && filepath.Dir(path) == folder && info.Mode()&0o200 != 0 {
			return path
		}
	}
	return ""
}

// Leftovers are the files that a killed program left beside its output.
type Leftovers []string

// Look returns the files in a folder beside the named files, and counts them. The
// program must be dead.
func (m *Moments) Look(t *testing.T, folder string, named ...string) Leftovers {
	t.Helper()
	entries, err := os.ReadDir(folder)
	fatal.If(t, err)
	var left Leftovers
	for _, e := range entries {
		if !slices.Contains(named, e.Name()) {
			left = append(left, filepath.Join(folder, e.Name()))
		}
	}
	if len(left) > 0 {
		m.Left++
	}
	return left
}

// WantGone checks that the next write has removed the leftovers.
func (l Leftovers) WantGone(t *testing.T) {
	t.Helper()
	for _, path := range l {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was left for good", path)
		}
	}
}
