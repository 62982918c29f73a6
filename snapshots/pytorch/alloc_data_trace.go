package pytorch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// plot turns an allocData into a trace.
type plot struct {
	data     *allocData
	in       *trace.Interner
	log      trace.EventLog
	elements []plotElement
	stacks   map[int64]trace.StackID // by suffix
	segments bool                    // the elements are segments, not allocations

	// The made-up addresses: freed ranges by rounded
	// size, and the end of the last.
	free map[int64][]uint64
	top  uint64
}

type plotElement struct {
	addr  uint64
	size  int64
	stack trace.StackID
	note  trace.NoteID
	live  bool
}

const (
	plotBase = 1 << 44 // where the made-up addresses begin
	plotUnit = 512

	plotElementBytes = 128 + segmentBytes // with its part of the final state
)

const plotNotice = "This page is a plot, not a snapshot: it has sizes, stacks and the order of events only. " +
	"Addresses and reserved memory are made up here; times, streams and free blocks are not known."

func newPlot(r *plotReader) (*plot, error) {
	d := &r.data
	if err := r.charge(plotElementBytes * len(d.sizes)); err != nil {
		return nil, err
	}
	p := &plot{
		data: d, in: trace.NewInterner(), elements: make([]plotElement, len(d.sizes)),
		stacks: map[int64]trace.StackID{-1: 0}, free: make(map[int64][]uint64), top: plotBase,
	}
	p.segments = len(d.sizes) > 0 && strings.HasPrefix(p.label(0), "s")
	for i := range p.elements {
		before := p.in.Memory()
		p.describe(i)
		if err := r.charge(int(p.in.Memory() - before)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// trace replays the actions.
func (p *plot) trace() *trace.Trace {
	for _, i := range p.data.initially {
		p.open(&p.elements[i])
	}
	for _, i := range p.data.actions {
		if e := &p.elements[i]; e.live {
			p.record(e, trace.FreeCompleted, trace.SegmentFree)
			e.live = false
			p.free[roundUp(e.size)] = append(p.free[roundUp(e.size)], e.addr)
		} else {
			p.open(e)
			p.record(e, trace.Alloc, trace.SegmentAlloc)
		}
	}
	tables := p.in.View()
	return &trace.Trace{
		Info: trace.Info{
			Kind: "snapshot", Container: "html", PickleProtocol: -1,
			Writer: "PyTorch 2.0 trace_plot", TraceLists: 1,
		},
		Tables:  &tables,
		Devices: []trace.Device{{Events: p.log.Events(), Final: p.final()}},
		Notices: []string{plotNotice},
	}
}

func (p *plot) record(e *plotElement, block, segment trace.Kind) {
	kind := block
	if p.segments {
		kind = segment
	}
	p.log.Append(trace.Event{
		Addr: e.addr, Size: e.size, Stack: e.stack, Note: e.note, Kind: kind,
		Absent: trace.NoTime | trace.NoStream,
	})
}

// open allocates an element, at a free address.
func (p *plot) open(e *plotElement) {
	if e.live {
		return
	}
	e.live = true
	size := roundUp(e.size)
	if ranges := p.free[size]; len(ranges) > 0 {
		e.addr = ranges[len(ranges)-1]
		p.free[size] = ranges[:len(ranges)-1]
		return
	}
	e.addr = p.top
	p.top += uint64(size)
}

func roundUp(size int64) int64 { return max(plotUnit, (size+plotUnit-1)/plotUnit*plotUnit) }

// describe finds an element's stack and category in its text. The first line
// is a label, which contains "20.0MiB allocation".
func (p *plot) describe(i int) {
	e := &p.elements[i]
	e.size = p.data.sizes[i]
	e.note = p.in.Note(trace.Note{Category: p.category(i)})
	if info := p.data.infos[i]; info >= 0 {
		e.stack = p.stack(p.data.suffixes[info][1])
	}
}

func (p *plot) label(i int) string {
	info := p.data.infos[i]
	if info < 0 {
		return ""
	}
	return p.data.strings[p.data.suffixes[info][0]]
}

// category returns torch.profiler's category of the element, from a column or
// the end of its label, as in "1.0KiB allocation (gradient)".
func (p *plot) category(i int) trace.StringID {
	if len(p.data.categories) > 0 {
		if c := p.data.categories[i]; c >= 0 && c < int64(len(p.data.names)) {
			return p.in.String(p.data.names[c])
		}
		return 0
	}
	_, after, _ := strings.Cut(p.label(i), " allocation (")
	name, closed := strings.CutSuffix(after, ")")
	if !closed || strings.HasSuffix(name, " bytes") {
		return 0
	}
	return p.in.String(name)
}

// stack interns the lines from a suffix on as frames.
func (p *plot) stack(suffix int64) trace.StackID {
	if id, ok := p.stacks[suffix]; ok {
		return id
	}
	var frames []trace.FrameID
	for at := suffix; at >= 0; at = p.data.suffixes[at][1] {
		line := p.data.strings[p.data.suffixes[at][0]]
		if !plotRemark(line) {
			frames = append(frames, p.in.Frame(p.frame(line)))
		}
	}
	id := p.in.Stack(frames)
	p.stacks[suffix] = id
	return id
}

// plotRemark reports whether PyTorch puts the line between label and stack.
func plotRemark(line string) bool {
	return strings.HasPrefix(line, "alloc not recorded") || strings.HasPrefix(line, "<block was allocated before")
}

// frame splits "file:line:function" at the first number between colons. A line
// of another form is kept whole as the function.
func (p *plot) frame(line string) trace.Frame {
	for at := 0; ; {
		i := strings.IndexByte(line[at:], ':')
		if i < 0 {
			return trace.Frame{File: trace.EmptyString, Name: p.in.String(line)}
		}
		at += i + 1
		digits, name, ok := strings.Cut(line[at:], ":")
		if n, err := strconv.ParseInt(digits, 10, 32); ok && err == nil {
			return trace.Frame{File: p.in.String(line[:at-1]), Name: p.in.String(name), Line: int32(n)}
		}
	}
}

const plotGiven = trace.GaveAddr | trace.GaveSize

// final returns the state after the last action: one made-up segment for
// allocations, or the segments that the plot was of.
func (p *plot) final() trace.State {
	live := slices.DeleteFunc(slices.Clone(p.elements), func(e plotElement) bool { return !e.live })
	slices.SortFunc(live, func(a, b plotElement) int { return cmp.Compare(a.addr, b.addr) })
	if p.segments {
		return trace.State{Segments: plotSegments(live)}
	}
	if p.top == plotBase {
		return trace.State{}
	}
	s := trace.Segment{Addr: plotBase, Size: int64(p.top - plotBase), Given: plotGiven}
	at := s.Addr
	for _, e := range live {
		s.Blocks = appendGap(s.Blocks, at, e.addr)
		s.Blocks = append(s.Blocks, trace.Block{
			Addr: e.addr, Size: roundUp(e.size), Requested: e.size, Stack: e.stack, Note: e.note,
			State: trace.Allocated, Given: plotGiven | trace.GaveRequested | trace.GaveState,
		})
		at = e.addr + uint64(roundUp(e.size))
	}
	s.Blocks = appendGap(s.Blocks, at, s.End())
	return trace.State{Segments: []trace.Segment{s}}
}

// appendGap appends a free block for the gap between two blocks.
func appendGap(blocks []trace.Block, from, to uint64) []trace.Block {
	if from == to {
		return blocks
	}
	return append(blocks, trace.Block{
		Addr: from, Size: int64(to - from), State: trace.Inactive, Given: plotGiven | trace.GaveState,
	})
}

// plotSegments returns segments whose blocks are unknown.
func plotSegments(live []plotElement) []trace.Segment {
	segments := make([]trace.Segment, 0, len(live))
	for _, e := range live {
		block := trace.Block{Addr: e.addr, Size: e.size, State: trace.UnknownState, Given: plotGiven}
		segments = append(segments, trace.Segment{
			Addr: e.addr, Size: e.size, Blocks: []trace.Block{block}, Stack: e.stack,
			Given: plotGiven,
		})
	}
	return segments
}
