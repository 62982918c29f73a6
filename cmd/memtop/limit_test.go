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
			memory := debug.SetMemoryLimit(-1)
			defer debug.SetMemoryLimit(memory)
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

func wantPercent(t *testing.T, want int) {
	t.Helper()
	got := debug.SetGCPercent(-1)
	debug.SetGCPercent(got)
	if got != want {
		t.Errorf("the collector runs at %d %%, want %d", got, want)
	}
}
