package tui

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/tui/keys"
)

// TestNoKeyMeansTwoThings compares every page's keys with each other and with
// the global ones.
func TestNoKeyMeansTwoThings(t *testing.T) {
	live, _ := startLive(t, 80, 24, 3)
	for what, d := range map[string]*driver{"a file": start(t, 80, 24, Options{}, fileOf("run.pickle", tuitest.Small())), "a process": live} {
		d.press("?", "?") // keys are bound to what is shown when one is pressed
		for name, p := range d.m.file().current().pages {
			groups := append(p.Help(), keys.Group{Title: "Everywhere", Bindings: d.m.helpful()})
			if g, ok := d.m.controlHelp(); ok {
				groups = append(groups, g)
			}
			meansOneThing(t, what+", "+name, groups)
		}
	}
}

func meansOneThing(t *testing.T, where string, groups []keys.Group) {
	t.Helper()
	seen := make(map[string]string)
	for _, g := range groups {
		for _, b := range g.Bindings {
			for _, k := range b.Keys() {
				if other, ok := seen[k]; ok && b.Enabled() {
					t.Errorf("%s: %q means both %q and %q", where, k, other, b.Help().Desc)
				}
				if b.Enabled() {
					seen[k] = b.Help().Desc
				}
			}
		}
	}
}
