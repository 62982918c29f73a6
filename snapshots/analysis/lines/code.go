package lines

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// kind says whose a frame is.
type kind uint8

const (
	runtime   kind = iota // interpreter, dispatcher, allocator and unwinder glue
	native                // compiled code: C++ without the glue, Go's standard library
	framework             // Python of PyTorch, of the standard library, generated; our own engine
	library               // other installed packages
	own                   // Python or Go of the program itself
)

// Code knows for each frame of a trace whether it is the program's own code, a
// library's, or neither. It is owned by one goroutine while it reads; in between,
// any number of goroutines may ask it.
type Code struct {
	tables  *trace.Tables
	kinds   []kind                 // by frame
	helps   map[trace.FrameID]bool // see "Helpers"
	library []string
	other   bool // a frame is not Python's
}

// NoStack names memory that was allocated within the trace without a stack. Where all stacks are of Python,
// only the thread of the autograd engine has none.
func (c *Code) NoStack() string {
	if c.other || len(c.kinds) < 2 {
		return NoStack
	}
	return Autograd
}

// Read judges the frames that are new in longer tables of the same trace.
func (c *Code) Read(t *trace.Tables) {
	c.tables = t
	for id := len(c.kinds); id < len(t.Frames); id++ {
		c.learn(Slashed(t.String(t.Frames[id].File)))
	}
	for id := len(c.kinds); id < len(t.Frames); id++ {
		f := t.Frames[id]
		c.other = c.other || id > 0 && !IsPython(Slashed(t.String(f.File)))
		c.kinds = append(c.kinds, c.judge(id, Slashed(t.String(f.File)), t.String(f.Name), f.Line))
	}
}

func (c *Code) judge(id int, file, name string, line int32) kind {
	switch {
	case id == 0:
		return native
	case isRuntime(file, name):
		return runtime
	case IsGo(file):
		return judgeGo(file, name)
	case !IsPython(file):
		return native
	case line <= 0 || isGenerated(file) || isPyTorch(file) || c.isStandard(file):
		return framework
	case packagesIn(file) >= 0, within(file, vendorFolders[:]), within(file, copied[:]):
		if hasPrefix(name, "wrapper", "wrapped") { // what a library puts around functions, such as a warning
			return framework
		}
		return library
	default:
		return own
	}
}

// judgeGo says whose a function of Go is: a program's own unless it is known to be
// another's.
func judgeGo(file, name string) kind {
	path := strings.TrimPrefix(goPackage(name), "github.com/memtop/") // recordings from before it had an address say memtop alone
	site, _, _ := strings.Cut(path, "/")
	switch {
	case hasPrefix(path, "memtop/engine/", "memtop/probe/", "memtop/cmd/"),
		path == "main" && ContainsAny(file, "cmd/memtrain/", "cmd/memtop/"), // our programs are no models of a user's
		file == "_testmain.go": // what go test writes to run tests
		return framework
	case strings.Contains(file, "/src/"+path+"/"), // the standard library, with its folder or built without
		strings.HasPrefix(file, path+"/") && !strings.Contains(site, "."),
		ContainsAny(file, "/pkg/mod/", "/vendor/", "@"): // a package that runs commands or tests is on every stack
		return native
	}
	return own
}

// Hidden reports whether a frame tells a reader nothing: it is on every stack.
func (c *Code) Hidden(frame trace.FrameID) bool { return c.kinds[frame] == runtime }

// Own reports whether a frame is a line of the program itself.
func (c *Code) Own(frame trace.FrameID) bool { return c.kinds[frame] == own }

// Line returns the frame that a stack's memory is from: the program's innermost
// own line that is no helper, else that of an installed package, else what was
// called. It is 0 for a stack without frames.
func (c *Code) Line(stack trace.StackID) trace.FrameID {
	if line, _ := c.ownLine(stack); line != 0 {
		return line
	}
	frames := c.tables.Stack(stack)
	for _, frame := range frames {
		if c.kinds[frame] >= library {
			return frame
		}
	}
	if operation := c.Operation(stack); operation != 0 || len(frames) == 0 {
		return operation
	}
	return frames[0]
}

// Operation returns the frame that names the operation that allocated: the
// innermost line of Python, else the backward node, else the outermost operator,
// because inner operators are only its implementation. It is 0 if all frames are
// hidden.
func (c *Code) Operation(stack trace.StackID) trace.FrameID {
	var operator, first trace.FrameID
	for _, id := range c.tables.Stack(stack) {
		if c.kinds[id] == runtime {
			continue
		}
		name := c.tables.String(c.tables.Frames[id].Name)
		switch {
		case c.kinds[id] >= framework, isNode(name):
			return id
		case strings.Contains(name, "at::_ops::"):
			operator = id
		case first == 0:
			first = id
		}
	}
	if operator != 0 {
		return operator
	}
	return first
}

// Operator returns the frame of the operator that was called from the innermost
// line of Python, 0 if none was recorded.
func (c *Code) Operator(stack trace.StackID) trace.FrameID {
	var operator trace.FrameID
	for _, id := range c.tables.Stack(stack) {
		switch {
		case c.kinds[id] >= framework:
			return operator
		case strings.Contains(c.tables.String(c.tables.Frames[id].Name), "at::_ops::"):
			operator = id
		}
	}
	return operator
}

// isNode knows the frame that runs a node of the backward graph.
func isNode(name string) bool {
	return strings.Contains(name, "::apply(") && ContainsAny(name, "Backward", "AccumulateGrad::")
}

// Telling returns up to n frames of a stack that tell a reader the most,
// innermost first: what was called, and the program's own lines that led there.
// Where the program is not on the stack, lines of its libraries stand in.
func (c *Code) Telling(stack trace.StackID, n int) []trace.FrameID {
	operation := c.Operation(stack)
	found := make([]trace.FrameID, 0, n+1)
	if operation != 0 {
		found = append(found, operation)
	}
	add := func(tells func(trace.FrameID) bool) {
		for _, frame := range c.tables.Stack(stack) {
			if len(found) < n && frame != operation && !c.Hidden(frame) && tells(frame) {
				found = append(found, frame)
			}
		}
	}
	add(c.Own)
	if len(found) <= 1 {
		add(func(frame trace.FrameID) bool { return c.kinds[frame] >= framework })
	}
	if len(found) <= 1 {
		add(func(frame trace.FrameID) bool { return IsGo(c.tables.String(c.tables.Frames[frame].File)) })
	}
	return found[:min(n, len(found))]
}

// Installed reports whether a frame is of a program or of a package that was
// installed for it, not of what runs below all of them.
func (c *Code) Installed(frame trace.FrameID) bool { return c.kinds[frame] >= library }
