package rehearse

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/report"
)

func TestSettingsOfTheAllocatorAreAddedToThoseThereAre(t *testing.T) {
	for name, test := range map[string]struct {
		environ []string
		conf    string
		want    string
	}{
		"none of the program's": {[]string{"HOME=/"}, expandable, "PYTORCH_CUDA_ALLOC_CONF=" + expandable},
		"its own stay":          {[]string{"PYTORCH_CUDA_ALLOC_CONF=backend:native"}, expandable, "PYTORCH_CUDA_ALLOC_CONF=backend:native," + expandable},
		"by the newer name":     {[]string{"PYTORCH_ALLOC_CONF=backend:native"}, expandable, "PYTORCH_ALLOC_CONF=backend:native," + expandable},
		"nothing is added":      {[]string{"PYTORCH_ALLOC_CONF=backend:native"}, "", "PYTORCH_ALLOC_CONF=backend:native"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := configured(test.environ, test.conf); got[len(got)-1] != test.want {
				t.Errorf("%q, want %q at the end", got, test.want)
			}
		})
	}
}

func TestChangesAreTriedTogetherIfNoneWillDoAlone(t *testing.T) {
	for name, test := range map[string]struct {
		tried []report.Remedy
		want  string
	}{
		"none fits":         {[]report.Remedy{{}, {}}, " checkpoint=all amp=bf16"},
		"one fits":          {[]report.Remedy{{}, {Fits: true}}, ""},
		"one cannot be had": {[]report.Remedy{{Refused: "it is on"}, {}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := together(test.tried).settings; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if slices.ContainsFunc(changes, func(c change) bool { return c.text == "" || c.settings == "" }) {
		t.Errorf("a change is empty: %+v", changes)
	}
}
