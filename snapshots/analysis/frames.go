package analysis

import (
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// The names of memory whose allocation stack is not known.
const (
	NoStack    = lines.NoStack
	HeldBefore = lines.HeldBefore
)

// Code returns what is known of the code of the trace's frames: whether a frame
// belongs to the program or to a library.
func (x *Index) Code() *lines.Code {
	return x.kept.folded.get(x, func(c *lines.Code) *lines.Code {
		if c == nil {
			c = new(lines.Code)
		}
		c.Read(x.tables)
		if x.trace.Live == nil { // else names would change while a program is watched
			c.Help(x.HoldersAt(x.Summary().PeakEvent))
		}
		return c
	})
}

// LinesAt adds up the live memory right after an event by line, function, file or
// module; see [lines.Code.Table].
func LinesAt(x *Index, at int, by lines.By, libraries bool) *lines.Table {
	return LinesOf(x, x.HoldersAt(at), by, libraries)
}

// LinesOf is LinesAt for holders that the caller already has.
func LinesOf(x *Index, holders []Holder, by lines.By, libraries bool) *lines.Table {
	return x.Code().Table(holders, by, libraries)
}

// FrameLabel returns a frame as "file:line function", or only the function if the
// file is not known, as is usual in C++.
func (x *Index) FrameLabel(id trace.FrameID) string {
	frame := x.tables.Frames[id]
	file := x.tables.String(frame.File)
	if frame.Line == 0 || file == "" || file == "??" {
		if name := x.tables.FrameName(id); name != "" {
			return name
		}
	}
	return x.tables.FrameText(id)
}

// ShortLabel is FrameLabel without the folders, without a C++ function's
// parameters and without the path of a Go function's package.
func (x *Index) ShortLabel(id trace.FrameID) string { return x.Code().FrameLabel(id) }

// Telling returns up to n frames of a stack that tell a reader the most; see
// [lines.Code.Telling].
func (x *Index) Telling(stack trace.StackID, n int) []trace.FrameID {
	return x.Code().Telling(stack, n)
}

// StackName names a stack in one short line, by the line of code that its memory
// is from.
func (x *Index) StackName(stack trace.StackID) string {
	if line := x.Code().Line(stack); line != 0 {
		return x.ShortLabel(line)
	}
	if stack == 0 {
		return NoStack
	}
	return x.Code().NoStack()
}

// Frames returns a stack as lines of "file:line function", innermost first.
func (x *Index) Frames(stack trace.StackID) []string {
	frames := x.tables.Stack(stack)
	labels := make([]string, len(frames))
	for i, id := range frames {
		labels[i] = x.tables.FrameText(id)
	}
	return labels
}
