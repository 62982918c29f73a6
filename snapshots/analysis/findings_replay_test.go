package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
)

// TestExpandableSegmentsAreAdvisedWhereAReplayProvesThem has a cache of two segments, of
// which the program once used some bytes.
func TestExpandableSegmentsAreAdvisedWhereAReplayProvesThem(t *testing.T) {
	cached := func(used int) string {
		return fmt.Sprintf(`
device 0
segment_alloc 0x10000000 134217728
segment_alloc 0x20000000 134217728
alloc 0x10000000 %[1]d
free_requested 0x10000000 %[1]d
free_completed 0x10000000 %[1]d
segment 0x10000000 134217728 stream=0 type="large"
block 0x10000000 134217728 inactive
segment 0x20000000 134217728 stream=0 type="large"
block 0x20000000 134217728 inactive
`, used<<20)
	}
	exact := func(reserved int64) whatif.Answer {
		return whatif.Answer{Again: &whatif.Run{PeakReserved: 256 << 20}, Runs: []whatif.Run{{Settings: expandable, PeakReserved: reserved << 20}}}
	}
	doubtful, ends := exact(130), exact(130)
	const limited = "settings\nsetting \"expandable_segments\" true\nsetting \"max_split_size\" 20971520\n"
	doubtful.Recorded.WhyNot, ends.Runs[0].Ends = "it contradicts itself", true
	for name, test := range map[string]struct {
		text   string
		answer whatif.Answer
		trial  bool
		saved  int64 // MiB, 0 for no finding
		kind   *FindingKind
	}{
		"half was never used":        {cached(128), exact(130), true, 126, ExpandableFinding},
		"a twentieth":                {cached(128), exact(243), true, 13, ExpandableFinding},
		"less":                       {cached(128), exact(244), true, 0, nil},
		"more":                       {cached(128), exact(300), true, 0, nil},
		"a replay that is not exact": {cached(128), doubtful, true, 0, nil},
		"a run that runs out":        {cached(128), ends, true, 0, nil},
		"nearly all was used":        {cached(206), exact(130), false, 0, nil},
		"what is expandable":         {"settings\nsetting \"expandable_segments\" true\n" + cached(128), exact(130), false, 0, nil},
		"what is expandable, and no block above a limit is cut": {limited + cached(128), exact(130), true, 126, SplitLimitFinding},
		"the same without a saving":                             {limited + cached(128), exact(244), true, 0, nil},
		"a device without an allocator":                         {"settings\nsetting \"allocator\" \"none\"\n" + cached(128), exact(130), false, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, test.text)
			if got := x.Trial(); (got == expandable) != test.trial {
				t.Errorf("to be tried: %q", got)
			}
			found := x.FindingsWith(Beside{Replay: &test.answer})
			at := slices.IndexFunc(found, func(f Finding) bool { return f.Kind == ExpandableFinding || f.Kind == SplitLimitFinding })
			switch {
			case test.saved == 0 && at >= 0:
				t.Errorf("got %q", found[at].Text())
			case test.saved > 0 && (at < 0 || found[at].Kind != test.kind || found[at].Saving != test.saved<<20 || found[at].Bytes != 128<<20):
				t.Errorf("got %+v", found)
			}
		})
	}
}

// TestAReplayReplacesAGuess has the driver refuse memory: that expandable segments may
// help is said until a replay tells.
func TestAReplayReplacesAGuess(t *testing.T) {
	x := indexOf(t, flushFrames+`
segment_alloc 0x100000000 33554432 stack=main
segment_free 0x100000000 33554432 stack=main
segment_alloc 0x200000000 67108864 stack=main
alloc 0x200000000 67108864 stack=main
segment 0x200000000 67108864 stream=0 type="large"
block 0x200000000 67108864 active_allocated requested=67108864 stack=main
`)
	answer := &whatif.Answer{Again: &whatif.Run{PeakReserved: 64 << 20}, Runs: []whatif.Run{{Settings: x.Trial(), PeakReserved: 64 << 20}}}
	for name, test := range map[string]struct {
		found []Finding
		want  bool
	}{"before": {x.Findings(), true}, "after": {x.FindingsWith(Beside{Replay: answer}), false}} {
		guessed := slices.ContainsFunc(test.found, func(f Finding) bool {
			return f.Kind == FlushFinding && strings.Contains(f.Text(), "may help")
		})
		if guessed != test.want || !slices.ContainsFunc(test.found, func(f Finding) bool { return f.Kind == FlushFinding }) {
			t.Errorf("%s: %+v", name, test.found)
		}
	}
}
