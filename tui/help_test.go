package tui

import (
	"reflect"
	"testing"

	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/tui/keys"
)

// TestEveryBindingIsInHelp walks each page's fields for bindings, so that a key
// that somebody adds and forgets to list fails here.
func TestEveryBindingIsInHelp(t *testing.T) {
	d := start(t, 200, 60, Options{}, fileOf("run.pickle", tuitest.Small()))
	for name, p := range d.m.file().current().pages {
		bindings := bindingsIn(reflect.ValueOf(p).Elem().FieldByName("Keys"))
		if len(bindings) < 5 {
			t.Errorf("%s: only %d bindings found", name, len(bindings))
		}
		for _, b := range bindings {
			wantsInHelp(t, name, b, p.Help())
		}
	}
}

func wantsInHelp(t *testing.T, where string, want []string, groups []keys.Group) {
	t.Helper()
	for _, g := range groups {
		for _, b := range g.Bindings {
			if reflect.DeepEqual(b.Keys(), want) {
				if h := b.Help(); b.Enabled() && (h.Key == "" || h.Desc == "") {
					t.Errorf("%s: the binding of %q has no help text", where, want)
				}
				return
			}
		}
	}
	t.Errorf("%s: the binding of %q is not in the help", where, want)
}

// bindingsIn returns the keys of all bindings in a struct and in the structs
// in it. The fields are read by reflection and may be unexported.
func bindingsIn(v reflect.Value) [][]string {
	if v.Type() == reflect.TypeFor[key.Binding]() {
		var names []string
		list := v.FieldByName("keys")
		for i := range list.Len() {
			names = append(names, list.Index(i).String())
		}
		return [][]string{names}
	}
	var all [][]string
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			all = append(all, bindingsIn(v.Index(i))...)
		}
	}
	if v.Kind() != reflect.Struct {
		return all
	}
	for _, field := range v.Fields() {
		all = append(all, bindingsIn(field)...)
	}
	return all
}

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
