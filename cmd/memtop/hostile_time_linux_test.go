package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// Files that share one thing among many, or have many of one thing, by how many: as text.
var slowFiles = map[string]func(n int) string{
	"a pool for each segment": func(n int) string {
		return slowFile(n, "stack s\n", func(i int) (string, string, string) { return "", "s", fmt.Sprintf("pool=%d,%d", i, i+1) })
	},
	"a deep stack of Python": func(n int) string { return slowFile(n, deepStack("s", n/10, "/home/u/a.py", "f"), alike) },
	"a deep stack of C++":    func(n int) string { return slowFile(n, deepStack("s", n/10, "??", "at::native::f"), alike) },
	"a deep stack with many roles": func(n int) string {
		return slowFile(n, deepStack("s", n/10, "/home/u/a.py", "f"), func(i int) (string, string, string) {
			return fmt.Sprintf("note n%d role=\"role%d\"\n", i, i), fmt.Sprintf("s note=n%d", i), ""
		})
	},
	"a standard library for each file": func(n int) string {
		return slowFile(n, "", func(i int) (string, string, string) {
			const lines = "frame x%[1]d \"/opt/v%[1]d/x.py\" 1 \"f\"\nframe a%[1]d \"/opt/v%[1]d/lib/python3.12/site-packages/a.py\" 1 \"g\"\nstack s%[1]d x%[1]d a%[1]d\n"
			return fmt.Sprintf(lines, i), fmt.Sprintf("s%d", i), ""
		})
	},
	"optimizer steps within each other": func(n int) string { return slowSteps(n, n/2, 0) },
	"failures and optimizer steps":      func(n int) string { return slowSteps(n, 1, n/2) },
}

// slowUses are the commands that look at most of a file.
var slowUses = [][]string{
	{"report", aFile},
	{"diff", aFile, aFile},
	{"advise", aFile},
	{"check", aFile, "--max-peak", "1GiB"},
	{"replay", aFile},
	{"export", aFile, "--to", "html", "-o", "-"},
	{"export", aFile, "--to", "folded", "-o", "-"},
	{"export", aFile, "--to", "pprof", "-o", "-"},
	{"export", aFile, "--to", "perfetto", "-o", "-"},
}

// Bounds of processor time, which other programs hardly change.
const (
	slowest = 20 * time.Second       // for a file of some megabytes
	quick   = 600 * time.Millisecond // is not looked at further
	larger  = 3                      // times, for the second file
	slower  = 3 * larger / 2         // times, that a command may be
)

// TestTimeFollowsTheSizeOfAFile has the real program look at files that cost more than
// their size if something is searched or walked for each of many.
func TestTimeFollowsTheSizeOfAFile(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("it takes minutes: make long-files")
	}
	const n = 24_000
	for name, make := range slowFiles {
		t.Run(name, func(t *testing.T) {
			large, small := slowPath(t, make(n)), slowPath(t, make(n/larger))
			for _, use := range slowUses {
				used := processorTime(t, use, large)
				if used < quick {
					continue
				}
				if before := processorTime(t, use, small); used > slowest || used > slower*max(before, quick/larger) {
					t.Errorf("%v takes %v, and %v for a file of a third", use, used, before)
				}
			}
		})
	}
}

func slowPath(t *testing.T, file string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pickle")
	writeSnapshot(t, path, tracetest.Parse(t, file))
	return path
}

// processorTime returns what a command on a file takes of the processors, its output
// thrown away.
func processorTime(t *testing.T, use []string, path string) time.Duration {
	t.Helper()
	program, err := os.Executable()
	fatal.If(t, err)
	memtop := exec.CommandContext(t.Context(), program)
	memtop.Args = []string{"memtop"}
	for _, word := range use {
		if word == aFile {
			word = path
		}
		memtop.Args = append(memtop.Args, word)
	}
	if err := memtop.Run(); err != nil && memtop.ProcessState.ExitCode() != 10 { // check found more than allowed
		t.Fatalf("%v: %v", use, err)
	}
	return memtop.ProcessState.UserTime() + memtop.ProcessState.SystemTime()
}

// deepStack has a stack of so many frames.
func deepStack(stack string, depth int, file, name string) string {
	var frames, labels strings.Builder
	for i := range depth {
		fmt.Fprintf(&frames, "frame %s%d %q %d \"%s%d\"\n", stack, i, file, i+1, name, i)
		fmt.Fprintf(&labels, " %s%d", stack, i)
	}
	return frames.String() + "stack " + stack + labels.String() + "\n"
}

func alike(int) (lines, stack, segment string) { return "", "s", "" }

// slowFile has segments of one live block each: with lines before them, the stack of the
// block, and what else a segment has.
func slowFile(n int, lines string, of func(i int) (lines, stack, segment string)) string {
	var names, events, segments strings.Builder
	names.WriteString(lines)
	for i := range n {
		at := 1<<30 + i<<20
		more, stack, segment := of(i)
		names.WriteString(more)
		fmt.Fprintf(&events, "alloc %d 1048576 @%d stack=%s\n", at, i+1, stack)
		fmt.Fprintf(&segments, "segment %d 1048576 device=0 type=\"large\" stream=0 %s\n  block %d 1048576 active_allocated requested=1048576 stack=%s\n", at, segment, at, stack)
	}
	return names.String() + "device 0\n" + events.String() + segments.String()
}

// slowSteps has n events of two deep stacks in turn, and optimizer steps, so many
// within each other; the last events are failures.
func slowSteps(n, within, failures int) string {
	var text strings.Builder
	text.WriteString(deepStack("s", n/10, "??", "f") + deepStack("t", n/10, "??", "g"))
	for i := range n / within / 2 {
		for _, stage := range [...]string{"START", "END"} {
			for k := range within {
				fmt.Fprintf(&text, "annotation \"Optimizer.step#A\" %q device=0 @%d\n", stage, 2*within*i+k+1)
			}
		}
	}
	text.WriteString("device 0\n")
	for i := range n {
		kind := "alloc"
		if i >= n-failures {
			kind = "oom"
		}
		fmt.Fprintf(&text, "%s %d 1048576 @%d stack=%c\n", kind, 1<<30+i<<20, i+1, "st"[i%2])
	}
	return text.String()
}
