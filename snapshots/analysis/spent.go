package analysis

import (
	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// spentSpan is how many events around an operation are looked at for what it read.
const spentSpan = 16

// spent returns the allocation that only the operation of an alloc event reads: its
// result may take that place. It has the result's size, and one of two things proves
// that nothing else reads it: it is freed before anything else is made, or it was
// made last, by the module before in a Sequential, which gives it to no one else.
func (x *Index) spent(result int, scene *savings.Scene) (input trace.AllocationID, found bool) {
	made := x.events.At(result)
	for i := result + 1; i < min(result+spentSpan, x.events.Len()); i++ {
		e := x.events.At(i)
		if e.Kind == trace.Alloc && e.Stack != made.Stack {
			break // what has the same stack is of the same operation: the mask of a dropout
		}
		if !e.Kind.Closes() {
			continue
		}
		id, _ := x.life.Change(i, e.Kind)
		if id != trace.NoAllocation && int(id) < result && x.sizeOf(id) == made.Size && (!found || id > input) {
			input, found = id, true // of several, the youngest is what the operation was given
		}
	}
	if found {
		return input, true
	}
	for i := result - 1; i >= max(0, result-spentSpan); i-- {
		if e := x.events.At(i); e.Kind == trace.Alloc && e.Stack != made.Stack && e.Size == made.Size && x.life.Closed(i) > result {
			return trace.AllocationID(i), scene.Chained(e.Stack, made.Stack)
		}
	}
	return 0, false
}

// spentAt returns the bytes at an event that only operations read whose results could
// have taken their place, and the stack of the largest of these.
func (x *Index) spentAt(at int, scene *savings.Scene) (bytes int64, by trace.StackID) {
	overwriting, any := scene.Overwriting()
	if !any {
		return 0, 0
	}
	largest := int64(0)
	for _, a := range x.alive(at) {
		if a.Open < 0 || !overwriting[max(a.Stack, 0)] {
			continue
		}
		if input, found := x.spent(a.Open, scene); found && x.life.Closed(int(input)) > at {
			if bytes += a.Size; a.Size > largest {
				largest, by = a.Size, a.Stack
			}
		}
	}
	return bytes, by
}
