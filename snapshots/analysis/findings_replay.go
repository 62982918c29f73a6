package analysis

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
)

// expandable is PyTorch's setting against fragmentation.
const expandable = "expandable_segments:True"

// Trial returns settings of the allocator that are worth a replay of the recorded
// requests, "" if there are none: a finding proposes expandable segments, or a
// fifth of what was reserved was never in use at once.
func (x *Index) Trial() string {
	remedy := x.remedy()
	if remedy == "" || x.events.Len() < 2 {
		return ""
	}
	s := x.Summary()
	unused := s.PeakReserved - s.PeakRequested
	if unused*5 < s.PeakReserved || unused < 64<<20 {
		if !slices.ContainsFunc(x.allFindings(), func(f Finding) bool { return f.Remedy == remedy }) {
			return ""
		}
	}
	return whatif.With(whatif.SettingsOf(x.trace, x.device), expandable)
}

// FindingsWith is Findings with what a replay of the settings of [Index.Trial] says.
// If the replay is exact, no finding proposes these settings as a guess any more.
func (x *Index) FindingsWith(a *whatif.Answer) []Finding {
	at := slices.IndexFunc(a.Runs, func(r whatif.Run) bool { return r.Settings == x.Trial() })
	if at < 0 || a.Recorded.WhyNot != "" {
		return x.Findings()
	}
	f, guess := &finder{index: x, summary: x.Summary(), found: slices.Clone(x.allFindings())}, x.remedy()
	for i := range f.found {
		if f.found[i].Remedy == guess {
			f.found[i].Remedy = ""
		}
	}
	f.replayed(a, &a.Runs[at])
	return shown(f.ordered())
}

// replayed says what expandable segments would save, if that is a twentieth.
func (f *finder) replayed(a *whatif.Answer, run *whatif.Run) {
	reserved := f.summary.PeakReserved
	unused, saved := reserved-f.summary.PeakRequested, a.Again.PeakReserved-run.PeakReserved
	if run.Ends || saved*20 < reserved {
		return
	}
	found := Finding{
		Kind: ExpandableFinding, Bytes: unused, Saving: saved, Confidence: Probable, Where: Where{Event: NoEvent},
		Evidence: fmt.Sprintf("Of %s that were reserved at most, %s (%d%%) were never in use at once",
			quantity.Bytes(reserved), quantity.Bytes(unused), Percent(unused, reserved)),
		Remedy: fmt.Sprintf("With PYTORCH_CUDA_ALLOC_CONF=%s a replay of the same requests reserves %s", run.Settings, quantity.Bytes(run.PeakReserved)),
	}
	if len(f.index.oomEvents) > 0 {
		found.Severity = Warning
	}
	f.add(found)
}
