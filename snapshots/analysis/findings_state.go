package analysis

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// cut says which numbers of a file that ends early are still right. The writer
// wrote the segments first; they are the state at the end, but the events of the
// file stop before the end.
func (f *finder) cut() {
	if f.index.trace.Info.Truncated && f.summary.Events > 0 {
		f.add(Finding{
			Kind: TruncationFinding, Severity: Warning, Where: Where{Event: f.index.End()},
			Evidence: fmt.Sprintf("The file is cut off after event %s: the segments are those of the end that is missing, so levels over time are approximate",
				quantity.Count(f.index.End())),
		})
	}
}

// lost says that a file lacks the beginning of the history. The recording of a
// watched program always does, so it has no such finding.
func (f *finder) lost() {
	if f.index.trace.Info.Truncated || f.watched() {
		return
	}
	found := Finding{Kind: LostHistoryFinding, Where: Where{Event: -1}}
	if d := f.index.device; d.Base != nil {
		if d.Overflowed {
			found.Evidence = "What came before the first of these events was too much to keep; only its outcome is known"
			f.add(found)
		}
		return
	}
	if f.noted() {
		return
	}
	o := f.index.Overflow()
	found.Severity, found.Confidence = Warning, o.Lost
	switch o.Lost {
	case Certain:
		found.Evidence, found.Remedy = "The start of the history is lost: "+o.Reason, "Record with a larger "+f.entriesArgument()
	case Probable:
		found.Evidence, found.Remedy = "The start of the history is probably lost: "+o.Reason, "A larger "+f.entriesArgument()+" keeps more"
	default:
		return
	}
	f.add(found)
}

// heldBefore says how many bytes of the peak the trace cannot explain.
func (f *finder) heldBefore() {
	s := &f.summary
	switch {
	case !f.index.hasStacks(): // which is said, and is why
		return
	case !f.index.History():
		f.heldWithoutStack()
		return
	case f.watched():
		return
	}
	var bytes int64
	for k := range f.index.life.Held {
		id := trace.HeldID(k)
		if a := f.index.life.AllocationAt(id, s.PeakEvent); a.Close > s.PeakEvent && (a.FreeStack || a.Stack <= trace.EmptyStack) {
			if category, _ := f.index.Category(a); category == trace.OtherCategory {
				bytes += a.Size
			}
		}
	}
	if share := Percent(bytes, s.PeakRequested); share >= 20 {
		f.add(Finding{
			Kind: HeldBeforeFinding, Bytes: bytes, Where: Where{Event: -1},
			Evidence: fmt.Sprintf("%s (%d%%) of the peak is older than the recording, and its use is unknown", quantity.Bytes(bytes), share),
			Remedy:   "record from the start of the program to know",
		})
	}
}

// heldWithoutStack says how much memory has no stack in a file without a history,
// if nothing else says what it is for.
func (f *finder) heldWithoutStack() {
	bytes := CategoriesOf(f.index.RulesAt(f.index.End()))[trace.OtherCategory]
	if share := Percent(bytes, f.summary.FinalRequested); share >= 20 {
		f.add(Finding{
			Kind: HeldBeforeFinding, Bytes: bytes, Where: Where{Event: NoEvent},
			Evidence: fmt.Sprintf("%s (%d%%) was allocated while recording was off, and its use is unknown", quantity.Bytes(bytes), share),
		})
	}
}

// unrecorded says which data was not recorded, and how to record it.
func (f *finder) unrecorded() {
	x := f.index
	if f.watched() || x.Uncached() {
		return // not PyTorch's recorder: another program, or memory without an allocator
	}
	how := f.recordCall()
	add := func(severity Severity, evidence, remedy string) {
		f.add(Finding{Kind: UnrecordedFinding, Severity: severity, Where: Where{Event: NoEvent}, Evidence: evidence, Remedy: remedy})
	}
	if f.noted() {
		if !x.History() {
			add(Info, "The history was off when the file was written: memtop's agent records the steps in which memory grows, and those that it looks at",
				"MEMTOP_HISTORY=1 in the job's environment keeps it on")
		}
		return
	}
	state := "The file has no history, only the memory at the moment it was written"
	if x.events.Len() > 0 {
		state = "The trace has " + entries(x.events.Len()) + ", which is not a history: recording was set to keep only the state"
	}
	switch stacks := x.hasStacks(); {
	case !x.History() && !stacks:
		add(Warning, state+". It has no stacks either, so the places of allocation are unknown", "to record both, "+how+" before allocating")
	case !x.History():
		add(Info, state, "to record one, "+how+" first")
	case !stacks:
		add(Warning, "No stacks were recorded, so the places of allocation are unknown", "to record them, "+how+" before allocating")
	}
}

// Writers of files whose releases have no expandable segments, and those that may know
// only the first arguments of _record_memory_history. Later releases take these too.
var (
	unexpandable   = regexp.MustCompile(`PyTorch (1\.|2\.0\b)`)
	firstArguments = regexp.MustCompile(`PyTorch 2\.[01]\b`)
)

// entriesArgument returns the argument that says how many entries are kept.
func (f *finder) entriesArgument() string {
	if firstArguments.MatchString(f.index.trace.Info.Writer) {
		return "trace_alloc_max_entries"
	}
	return "max_entries"
}

// recordCall says how the release that wrote the file records all.
func (f *finder) recordCall() string {
	const call = "call torch.cuda.memory._record_memory_history("
	argument := f.entriesArgument() + "=1000000"
	switch writer := f.index.trace.Info.Writer; {
	case firstArguments.MatchString(writer):
		return call + "True, " + argument + ", trace_alloc_record_context=True)"
	case unexpandable.MatchString(writer): // 1.13, without histories
		return "take PyTorch 2.1 or later, and " + call + argument + ")"
	}
	return call + argument + ")"
}

// noted reports whether memtop's agent wrote the file: PyTorch itself notes no
// categories, and the agent keeps as much history as it needs.
func (f *finder) noted() bool { return f.index.verdicts().AnyNoted() }

func entries(n int) string {
	if n == 1 {
		return "a single entry"
	}
	return quantity.Count(n) + " entries"
}

// hasStacks reports whether any allocation has a stack.
func (x *Index) hasStacks() bool {
	return x.stacks.count() > 0 || x.initial+x.nowRequested == 0 && x.kinds[trace.Alloc] == 0 ||
		slices.ContainsFunc(x.device.Final.Segments, func(s trace.Segment) bool { return s.Stack > trace.EmptyStack })
}

// inconsistent adds a finding if the events and the final state contradict each
// other.
func (f *finder) inconsistent() {
	x := f.index
	stray := max(0, x.initial+x.nowRequested-x.Summary().Requested) // alive by the events, but not in the final state
	faults := x.segmentHistory().Faults() + x.life.Reused()
	if faults == 0 && stray == 0 || x.trace.Info.Truncated {
		return
	}
	f.add(Finding{
		Kind: ContradictionFinding, Severity: Warning, Bytes: stray, Where: Where{Event: NoEvent},
		Evidence: fmt.Sprintf("The events and the final segments do not fit together (%s live after the last event have no block, %d events contradict the state): "+
			"the file was trimmed or made by hand, so numbers over time are approximate", quantity.Bytes(stray), faults),
	})
}

func (f *finder) waiting() {
	if pending := f.summary.Active - f.summary.Allocated; pending > f.summary.Reserved/20 {
		f.add(Finding{
			Kind: PendingFreeFinding, Bytes: pending, Saving: pending, Where: Where{Event: f.index.End()},
			Evidence: quantity.Bytes(pending) + " was freed by the program but is still in use by another stream",
		})
	}
}

// streams says that memory is cached for many streams: only the stream that a block was made on gets it again.
func (f *finder) streams() {
	const fewest = 4
	var cached int64
	found := make(map[trace.StreamID]bool)
	segments := f.index.device.Final.Segments
	for i := range segments {
		s := &segments[i]
		if f.index.tables.Pools[s.Pool] != (trace.Pool{}) || f.index.tables.Streams[s.Stream] == 0 {
			continue
		}
		for b := range s.Blocks {
			if s.Blocks[b].State == trace.Inactive {
				found[s.Stream] = true
				cached += s.Blocks[b].Size
			}
		}
	}
	if len(found) >= fewest && cached > f.summary.Reserved/5 {
		f.add(Finding{
			Kind: StreamsFinding, Severity: Warning, Bytes: cached, Where: Where{Event: NoEvent}, Remedy: "streams that are made once and used again share what they cached",
			Evidence: fmt.Sprintf("%s is cached for %s beside the default one, and no other stream gets it", quantity.Bytes(cached), quantity.Plural(len(found), "stream")),
		})
	}
}

// sharedPool is advice: each graph's next run writes over what the others left.
const sharedPool = "graphs can share a pool (torch.cuda.graph(g, pool=...)) if they never run at once and none needs what another left there"

func (f *finder) pools() {
	var reserved, free int64
	found := make(map[trace.PoolID]bool)
	segments := f.index.device.Final.Segments
	for i := range segments {
		s := &segments[i]
		if f.index.tables.Pools[s.Pool] == (trace.Pool{}) {
			continue
		}
		found[s.Pool] = true
		reserved += s.Size
		for b := range s.Blocks {
			if s.Blocks[b].State == trace.Inactive {
				free += s.Blocks[b].Size
			}
		}
	}
	if free > f.summary.Reserved/20 {
		// Of a graph's pool nothing can go: the graph uses it whenever it runs.
		remedy := sharedPool
		if len(found) == 1 {
			remedy = ""
		}
		if f.index.words().Serves() {
			remedy = "cudagraph_capture_sizes (vLLM) or --cuda-graph-max-bs (SGLang) sets how many graphs there are, enforce_eager that there are none"
		}
		f.add(Finding{
			Kind: PrivatePoolFinding, Bytes: reserved, Where: Where{Event: NoEvent}, Remedy: remedy,
			Evidence: fmt.Sprintf("%s is reserved by %s (CUDA graphs or MemPool), %s of it unused now; other code cannot use it",
				quantity.Bytes(reserved), quantity.Plural(len(found), "private pool"), quantity.Bytes(free)),
		})
	}
}

// onePool says what one pool for all graphs would save, as a replay shows.
func (f *finder) onePool(g *Graphs) {
	for i := range f.found {
		if found := &f.found[i]; g != nil && g.OnePool != nil && found.Remedy == sharedPool {
			if found.Saving = *g.OnePool; found.Saving <= 0 {
				found.Saving, found.Remedy = 0, ""
			}
		}
	}
}
