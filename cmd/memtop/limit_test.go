package main

import (
	"runtime/debug"
	"testing"
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
