package analysis

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// expandable is PyTorch's setting against fragmentation.
const expandable = "expandable_segments:True"

// mostTried is how many events are replayed without being asked to: it takes half a
// second. More have to wait for `memtop replay`.
const mostTried = 1 << 20

// Trial returns settings of the allocator that are worth a replay of the recorded
// requests, "" if there are none: a finding proposes expandable segments, or a
// fifth of what was reserved was never in use at once.
func (x *Index) Trial() string {
	remedy := x.remedy()
	if x.limitsSplits() {
		return expandable // without the limit
	}
	if remedy == "" || x.events.Len() < 2 || x.events.Len() > mostTried {
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

// limitsSplits reports whether both settings are on: then what is above the limit is never cut, and expandable
// segments grow by what they cannot use again.
func (x *Index) limitsSplits() bool {
	g := trace.NewGeometry(x.trace.Settings)
	return g.Expandable && g.MaxSplit != trace.NoMaxSplit && x.events.Len() <= mostTried && x.trace.Live == nil
}

// Beside is what a device's own events do not tell.
type Beside struct {
	Uneven *Finding       // about the device, see [Uneven]; nil for none
	Replay *whatif.Answer // about the settings of [Index.Trial], nil for none
}

// FindingsWith is Findings with what else is known. If a replay is exact, no finding
// proposes its settings as a guess any more.
func (x *Index) FindingsWith(b Beside) []Finding {
	f := &finder{index: x, summary: x.Summary(), found: slices.Clone(x.allFindings())}
	if b.Uneven != nil {
		f.add(*b.Uneven)
	}
	if a := b.Replay; a != nil && a.Recorded.WhyNot == "" {
		trial := x.Trial()
		at := slices.IndexFunc(a.Runs, func(r whatif.Run) bool { return r.Settings == trial })
		if at >= 0 {
			f.settle(a, &a.Runs[at])
		}
		f.onePool(x.Graphs(a))
	}
	return shown(f.ordered())
}

// settle replaces what findings guess of settings by what a replay says.
func (f *finder) settle(a *whatif.Answer, run *whatif.Run) {
	guess := f.index.remedy()
	for i := range f.found {
		if f.found[i].Remedy == guess {
			f.found[i].Remedy = ""
		}
	}
	f.replayed(a, run)
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
	if f.index.limitsSplits() {
		found.Kind, found.Severity = SplitLimitFinding, Warning
		found.Remedy = fmt.Sprintf("max_split_size_mb beside expandable_segments leaves large free blocks uncut: with PYTORCH_CUDA_ALLOC_CONF=%s alone a replay of the same requests reserves %s",
			run.Settings, quantity.Bytes(run.PeakReserved))
	}
	if len(f.index.oomEvents) > 0 {
		found.Severity = Warning
	}
	f.add(found)
}
