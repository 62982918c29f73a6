package analysis

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Walk calls yield with the requested and the reserved bytes right after each
// event, in order, until yield returns false. It reads each event once, whereas
// calls of RequestedAt for all events would replay many events again and again.
func (l *levels) Walk(yield func(event int, requested, reserved int64) bool) {
	requested, reserved := l.RequestedAt(-1), l.ReservedAt(-1)
	for i := range l.events.Len() {
		requested += l.delta(i, l.events.At(i))
		reserved += l.reservedDelta(i)
		if !yield(i, requested, reserved) {
			return
		}
	}
}

// Told returns the frames of a stack that tell a reader something, innermost
// first: all except those that [StackOptions].HideRuntime hides. If a stack has
// only hidden frames, it keeps the innermost one.
func (x *Index) Told(stack trace.StackID) []trace.FrameID {
	frames := x.tables.Stack(stack)
	told := slices.DeleteFunc(slices.Clone(frames), x.Code().Hidden)
	if len(told) == 0 && len(frames) > 0 {
		told = append(told, frames[0])
	}
	return told
}
