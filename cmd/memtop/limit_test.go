package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// TestTheCollectorRunsAgainAfterARest lets two things rest at once, as two files do that
// are opened, and a large file's bound come meanwhile.
func TestTheCollectorRunsAgainAfterARest(t *testing.T) {
	for name, test := range map[string]struct {
		user, bound int
		want        int
	}{
		"as it did":                  {100, 64 << 20, 100},
		"with little garbage":        {100, largeBound + 1, garbagePercent},
		"less yet, which a user set": {10, largeBound + 1, 10},
		"never, which a user set":    {-1, largeBound + 1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
			defer debug.SetGCPercent(debug.SetGCPercent(test.user))
			var l limits
			l.rest(-1, func() {
				l.rest(-1, func() { wantPercent(t, -1) })
				wantPercent(t, -1)
				l.bound("a file", int64(test.bound))
				wantPercent(t, -1)
			})
			wantPercent(t, test.want)
		})
	}
}

func TestTheCollectorRunsSeldomWhileAFileIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		user, bound   int
		during, after int
	}{
		"a small file":           {100, 64 << 20, seldom, 100},
		"a large file":           {100, largeBound + 1, seldom, garbagePercent},
		"as often as a user set": {50, 64 << 20, 50, 50},
		"never, as a user set":   {-1, 64 << 20, -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
			defer debug.SetGCPercent(debug.SetGCPercent(test.user))
			var l limits
			l.reading(func() {
				wantPercent(t, test.during)
				l.bound("a file", int64(test.bound))
				wantPercent(t, test.during)
			})
			wantPercent(t, test.after)
			l.reading(func() {
				if test.after != 100 { // what is said stays
					wantPercent(t, test.after)
				}
			})
			wantPercent(t, test.after)
		})
	}
}

func wantPercent(t *testing.T, want int) {
	t.Helper()
	got := debug.SetGCPercent(-1)
	debug.SetGCPercent(got)
	if got != want {
		t.Errorf("the collector runs at %d %%, want %d", got, want)
	}
}

// layersOnly is one forward pass over eight layers, each of which keeps 1 MiB.
func layersOnly() string {
	var text strings.Builder
	text.WriteString("frame layer \"model.py\" 20 \"forward\"\nframe head \"model.py\" 40 \"forward\"\nstack keeps layer\nstack ends head\ndevice 0\n")
	for i := range 8 {
		fmt.Fprintf(&text, "alloc 0x%x 1048576 @%d stack=keeps\n", (i+1)<<24, i*100)
		fmt.Fprintf(&text, "alloc 0x100 4096 @%d stack=ends\nfree_completed 0x100 4096 @%d\n", i*100+10, i*100+20)
	}
	return text.String()
}

// TestScriptsMayTrustExitCodes writes pairs of files, and runs check on the second, or
// diff on both.
func TestScriptsMayTrustExitCodes(t *testing.T) {
	const mark = "annotation \"ProfilerStep#%d\" %q device=0 @%d\n"
	marked := strings.Builder{}
	for step := range 8 {
		fmt.Fprintf(&marked, mark+mark, step, "START", step*100, step, "END", step*100+90)
	}
	small, large := "device 0\nalloc 0x100 1048576\n", "device 0\nalloc 0x100 3145728\n"
	second := "device 1\nalloc 0x100 42949672960\n"
	for name, test := range map[string]struct {
		before, after string
		args          string
		code          int
		says          string
	}{
		"a peak within its limit":               {"", small, "check --max-peak 1MiB", command.ExitOK, ""},
		"a peak above its limit":                {"", large, "check --max-peak 1MiB", command.ExitThreshold, "the peak of device 0"},
		"a limit in powers of ten":              {"", small, "check --max-peak 1MB", command.ExitThreshold, "the peak of device 0"},
		"a peak of a second device":             {"", small + second, "check --max-peak 1GiB", command.ExitThreshold, "the peak of device 1"},
		"growth from marked step to step":       {"", marked.String() + layersOnly(), "check --max-growth 1023KiB/step", command.ExitThreshold, "grows by 1.0 MiB per step"},
		"growth within its limit":               {"", marked.String() + layersOnly(), "check --max-growth 1MiB/step", command.ExitOK, ""},
		"growth from layer to layer, no steps":  {"", layersOnly(), "check --max-growth 1KiB/step", command.ExitUsage, "the program marks no steps"},
		"no steps, and a peak above its limit":  {"", layersOnly(), "check --max-growth 1KiB/step --max-peak 1KiB", command.ExitUsage, "the program marks no steps"},
		"no limit":                              {"", small, "check", command.ExitUsage, "it needs a limit"},
		"equal files":                           {small, small, "diff --max-growth 0", command.ExitOK, ""},
		"a peak that grew within the limit":     {small, large, "diff --max-growth 2MiB", command.ExitOK, ""},
		"a peak that grew more":                 {small, large, "diff --max-growth 2MB", command.ExitThreshold, "the peak of device 0 grew by 2097152 bytes"},
		"a peak that shrank":                    {large, small, "diff --max-growth 0", command.ExitOK, ""},
		"a device that appeared":                {small, small + second, "diff --max-growth 1MiB", command.ExitThreshold, "the peak of device 1 grew by 42949672960 bytes"},
		"a device that appeared, in JSON":       {small, small + second, "diff --json --max-growth 1MiB", command.ExitThreshold, "device 1"},
		"a device that appeared within a limit": {small, small + second, "diff --max-growth 40GiB", command.ExitOK, ""},
		"a device that vanished":                {small + second, small, "diff --max-growth 0", command.ExitOK, ""},
		"a difference without a limit":          {small, large, "diff", command.ExitOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder, args := t.TempDir(), strings.Fields(test.args)
			for file, text := range map[string]string{"before.pickle": test.before, "after.pickle": test.after} {
				if path := filepath.Join(folder, file); text != "" {
					writeSnapshot(t, path, tracetest.Parse(t, text))
				}
			}
			if test.before != "" {
				args = append(args, filepath.Join(folder, "before.pickle"))
			}
			var out, problem bytes.Buffer
			code := run(append(args, filepath.Join(folder, "after.pickle")), &out, &problem)
			if says := problem.String(); code != test.code || !strings.Contains(says, test.says) || (says == "") != (code == 0) {
				t.Errorf("exit code %d, and %q; want %d, and %q", code, says, test.code, test.says)
			}
		})
	}
}
