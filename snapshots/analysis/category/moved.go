package category

import (
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// moved has what modules moved, by the frame that moved it: how many bytes of each
// size. A module moves each weight, then the gradient of it, then its buffers, each
// on a line of its own.
type moved map[trace.FrameID]map[int64]int64

func (m moved) add(frame trace.FrameID, size int64) {
	if m[frame] == nil {
		m[frame] = make(map[int64]int64)
	}
	m[frame][size] += size
}

// findMoved finds the lines that move gradients. It looks at allocations only where
// stacks have several lines.
func (j *Judge) findMoved(held []trace.Held) {
	lines := make(map[trace.FrameID]bool)
	for k := range j.stacks {
		if s := &j.stacks[k]; s.maker == moveMaker && j.traits[s.frame]&traits.Applies != 0 {
			lines[s.frame] = true
		}
	}
	if len(lines) < 2 {
		return
	}
	m := make(moved)
	take := func(stack trace.StackID, size int64) {
		if s := &j.stacks[stack]; s.maker == moveMaker && lines[s.frame] {
			m.add(s.frame, size)
		}
	}
	for k := range held {
		take(held[k].Stack, held[k].Size)
	}
	for i := range j.events.Len() {
		if e := j.events.At(i); e.Kind == trace.Alloc {
			take(e.Stack, e.Size)
		}
	}
	for frame := range m {
		j.movesGradients[frame] = m.follows(j.tables, frame)
	}
}

// follows reports whether a frame moves what another does on an earlier line of its
// file: no size more often, and much of it all. Buffers have a few of those sizes.
func (m moved) follows(t *trace.Tables, frame trace.FrameID) bool {
	const part = 4
	for first, weights := range m {
		f, g := &t.Frames[first], &t.Frames[frame]
		if f.File != g.File || f.Line >= g.Line {
			continue
		}
		var all, same int64
		for size, bytes := range weights {
			all += bytes
			same += min(bytes, m[frame][size])
		}
		var more int64
		for size, bytes := range m[frame] {
			more += max(0, bytes-weights[size])
		}
		if same*part >= all && more == 0 {
			return true
		}
	}
	return false
}
