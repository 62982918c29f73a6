package replay

import (
	"fmt"
	"slices"

	"memtop/snapshots/quantity"
	"memtop/snapshots/trace"
)

// start is what was before the first event.
type start struct {
	state trace.State
	doubt string // why the state is not to be trusted, "" when it is
}

// startOf returns the state before the first event of a device: the writer's word,
// or what undoing the events gives.
func startOf(t *trace.Trace, d *trace.Device) start {
	if d.Base != nil {
		return start{state: *d.Base}
	}
	state, problems := trace.Rewind(t, d)
	s := start{state: state}
	if problems.Count > 0 {
		s.doubt = fmt.Sprintf("the file contradicts itself in %s, as when something was taken out of it: %s",
			quantity.Plural(problems.Count, "place"), problems.First[0].Reason)
		return s
	}
	lookAhead(&s.state, d.Events)
	return s
}

// gap is free memory after a live block of the state before the first event.
type gap struct {
	segment, block int // of the live block; the free one follows it
	addr, end      uint64
	known          bool
}

// lookAhead corrects the sizes of large blocks that are followed by a wide gap
// of free memory and are freed inside the trace, so that only their requested
// bytes are known. The free block in the gap is consumed from its front: if
// the first alloc in the gap, made while the block lives, begins at most 1 MiB
// after the block's rounded end, the block reaches up to it.
func lookAhead(base *trace.State, events trace.Events) {
	gaps, before := findGaps(base)
	for i := 0; i < events.Len() && len(gaps) > 0; {
		span := events.Span(i)
		for k := range span {
			switch e := &span[k]; e.Kind {
			case trace.FreeCompleted:
				if g, ok := before[e.Addr]; ok {
					gaps[g].known = true
				}
			case trace.Alloc:
				fill(base, gaps, e.Addr)
			}
		}
		i += len(span)
	}
}

// findGaps returns the gaps in order of address, and which comes after the block
// at an address.
func findGaps(base *trace.State) ([]gap, map[uint64]int) {
	var gaps []gap
	before := make(map[uint64]int)
	for i := range base.Segments {
		s := &base.Segments[i]
		if s.Expandable || s.Size == trace.SmallSegment {
			continue
		}
		for k := range len(s.Blocks) - 1 {
			b, free := &s.Blocks[k], &s.Blocks[k+1]
			if b.State.Live() && !free.State.Live() {
				before[b.Addr] = len(gaps)
				gaps = append(gaps, gap{segment: i, block: k, addr: free.Addr, end: free.Addr + uint64(free.Size)})
			}
		}
	}
	return gaps, before
}

// fill takes the first allocation in a gap for the block's end.
func fill(base *trace.State, gaps []gap, addr uint64) {
	at, _ := slices.BinarySearchFunc(gaps, addr, func(g gap, addr uint64) int {
		if g.end <= addr {
			return -1
		}
		return 1
	})
	if at == len(gaps) || addr < gaps[at].addr || gaps[at].known {
		return
	}
	g := &gaps[at]
	g.known = true
	if stray := int64(addr - g.addr); stray <= trace.SmallLimit {
		blocks := base.Segments[g.segment].Blocks
		blocks[g.block].Size += stray
		blocks[g.block+1].Addr += uint64(stray)
		blocks[g.block+1].Size -= stray
	}
}
