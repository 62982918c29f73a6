package rehearse

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/python"
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
		fits  bool // the program, as it is
		want  bool
	}{
		"none fits":           {[]report.Remedy{{}, {}}, false, true},
		"one fits":            {[]report.Remedy{{}, {Fits: true}}, false, false},
		"one cannot be had":   {[]report.Remedy{{Refused: "it is on"}, {}}, false, false},
		"it fits in any case": {[]report.Remedy{{Fits: true}, {Fits: true}}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			on := &report.RehearsedOn{Tried: test.tried}
			if !test.fits {
				on.OOM = new(report.Shortage)
			}
			changes := []change{
				{text: "one", edit: &python.Edit{Line: 3, Text: "one()\n"}, calls: []string{"views"}},
				{text: "other", edit: &python.Edit{Line: 3, Text: "other()\n"}, conf: expandable},
			}
			all, several := together(changes, on)
			if several != test.want {
				t.Fatalf("worth a run: %t", several)
			}
			if want := "one()\nother()\n"; several && (all.text != "one, other" || all.edit.Text != want || all.conf != expandable || len(all.calls) != 1) {
				t.Errorf("%+v", all)
			}
		})
	}
}

// TestABuildWithoutCUDAHasARemedy has the same release be named.
func TestABuildWithoutCUDAHasARemedy(t *testing.T) {
	var failed command.Failure
	if !errors.As(cpuOnly("2.15.0+cpu"), &failed) || failed.Code != command.ExitError || failed.Cause != "this PyTorch (2.15.0+cpu) is a build without CUDA" ||
		!strings.HasPrefix(failed.Remedy, "install its build with CUDA") || !strings.HasSuffix(failed.Remedy, "--no-deps torch==2.15.0") {
		t.Errorf("%+v", failed)
	}
}

// TestARehearsalCompilesAgain has a fresh folder for what PyTorch compiles, unless the user has chosen one.
func TestARehearsalCompilesAgain(t *testing.T) {
	s := &stage{folder: "/stage"}
	for users, want := range map[string]bool{"": true, "/mine": false} {
		t.Setenv(inductorCache, users)
		if got := slices.Contains(s.environment("", &trial{}, &Rehearsal{}), inductorCache+"=/stage/torchinductor"); got != want {
			t.Errorf("where the user has %q the folder is a fresh one: %t", users, got)
		}
	}
}
