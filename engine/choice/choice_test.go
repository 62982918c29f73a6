package choice_test

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/engine/choice"
)

type fruit string

func (f fruit) String() string { return string(f) }

func TestNamesAreAList(t *testing.T) {
	list := []fruit{"apple", "pear", "plum"}
	if got, want := choice.Or(list), "apple, pear or plum"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := choice.And(list[:2]), "apple and pear"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	equal.Values(t, "the result", []string{"apple", "pear", "plum"}, choice.Names(list))
	if got, ok := choice.Find(list, "pear"); !ok || got != "pear" {
		t.Errorf("got %v, %v for a pear", got, ok)
	}
	if _, ok := choice.Find(list, "fig"); ok {
		t.Error("there is no fig")
	}
}

func TestANameIsParsedOrAllAreSaid(t *testing.T) {
	list := []fruit{"apple", "pear", "plum"}
	if got, err := choice.Parse("fruit", list, "pear"); got != "pear" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := choice.Parse("fruit", list, "leek"); err == nil || err.Error() != `fruit "leek": want apple, pear or plum` {
		t.Errorf("got %v", err)
	}
}
