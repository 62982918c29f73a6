package lines

import (
	"maps"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Helpers
//
// A program may allocate through one function of its own for everyone: make(shape), or
// a layer that wraps a product. Its line then holds most of the memory and tells
// nothing. The line that a reader would point at is the caller, in which the blocks
// differ. A line counts as a helper if it holds a quarter of the memory, for three of
// the program's functions or more, and none of them has three quarters
// of it. A layer that a model's blocks call is called by few functions.
const (
	helperShare   = 4 // one part of so many, of all memory that the program's own lines hold
	helperCallers = 3
)

// Help finds the helpers of a program in what its stacks hold. Call it before others
// ask for lines.
func (c *Code) Help(holdings []Holding) {
	bytes := make(map[trace.FrameID]int64)
	callers := make(map[trace.FrameID]map[function]int64)
	whole := int64(0)
	for _, h := range holdings {
		if h.Bytes == 0 {
			continue
		}
		line, caller := c.ownLine(h.Stack)
		if line == 0 {
			continue
		}
		whole += h.Bytes
		bytes[line] += h.Bytes
		if caller != 0 {
			if callers[line] == nil {
				callers[line] = make(map[function]int64)
			}
			callers[line][c.functionOf(caller)] += h.Bytes
		}
	}
	c.helps = make(map[trace.FrameID]bool)
	for line, by := range callers {
		most := slices.Max(slices.Collect(maps.Values(by)))
		if len(by) >= helperCallers && bytes[line]*helperShare >= whole && 4*most <= 3*bytes[line] {
			c.helps[line] = true
		}
	}
}

// function is where a line is.
type function struct{ file, name trace.StringID }

func (c *Code) functionOf(frame trace.FrameID) function {
	f := c.tables.Frames[frame]
	return function{f.File, f.Name}
}

// comprehensions are parts of the function around them, which old versions of Python
// give frames of their own.
var comprehensions = []string{"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>"}

// ownLine returns the program's innermost own line that is no helper, and the nearest
// own line of another function that led there; 0 where there is none.
func (c *Code) ownLine(stack trace.StackID) (line, caller trace.FrameID) {
	for _, frame := range c.tables.Stack(stack) {
		switch {
		case !c.Own(frame):
		case line == 0 && !c.helps[frame]:
			line = frame
		case line != 0 && c.functionOf(frame) != c.functionOf(line) && !slices.Contains(comprehensions, c.tables.FrameName(frame)):
			return line, frame
		}
	}
	return line, 0
}
