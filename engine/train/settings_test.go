package train

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestEverySettingThatWasChosenIsNamed changes each setting of the table by
// itself, to its first other choice if it has choices.
func TestEverySettingThatWasChosenIsNamed(t *testing.T) {
	if list := DefaultSettings().Chosen(); len(list) > 0 {
		t.Errorf("by default: got %v", list)
	}
	for _, k := range settingKeys {
		s := DefaultSettings()
		value := "2"
		for _, choice := range k.choices {
			if choice != k.get(&s) {
				value = choice
			}
		}
		s, err := s.With(k.key, value)
		fatal.If(t, err)
		want := []trace.Value{{Key: k.key, Value: k.get(&s)}}
		if k.key == "optimizer" {
			want = nil // its own rate is not chosen either
		}
		if diff := cmp.Diff(want, s.Chosen()); diff != "" {
			t.Errorf("%s=%s (-want +got):\n%s", k.key, value, diff)
		}
	}
}

// TestSettingsOfAnotherVersionAreLeftAlone reads those of a run that was saved when
// there was one more.
func TestSettingsOfAnotherVersionAreLeftAlone(t *testing.T) {
	s, err := DefaultSettings().withAll(map[string]string{"checkpoint": "block", "in_place": "on"})
	if got := s.Checkpoint.String(); err != nil || got != "block" {
		t.Errorf("checkpoint=%s, %v", got, err)
	}
}

func TestAFlagNamesItsValueOnceAndNoNumberIsRefused(t *testing.T) {
	for _, key := range Keys() {
		if help := Help(key); strings.Count(help, "`") != 2 {
			t.Errorf("%s: %q names its value not once", key, help)
		}
	}
	for _, key := range []string{"clip", "accumulate"} {
		if _, err := DefaultSettings().With(key, "-1"); err == nil {
			t.Errorf("%s=-1 is taken", key)
		}
	}
}
