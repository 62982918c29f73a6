package tracetest

import "fmt"

// # The text form
//
// A whole trace as text that people can read and change. Tests keep their
// traces in it. One line says one thing; white space in front, blank lines and
// lines that begin with # mean nothing. The first line is
//
//	memtop-trace 1
//
// What follows, in any order except that names come before their use:
//
//	info [kind=T] [container=T] [path=T] [writer=T] [protocol=N] [bytes=N]
//	     [lists=N] [list] [notraces] [growing] [control] [truncated]
//	notice T
//	settings                          the trace has a list of settings
//	setting T VALUE
//	annotations                       the trace has a list of annotations
//	annotation T T [device=N] [@N]    name, stage
//	frame LABEL T N T [op=T] [node=T] [target=T] [original=T] [info=T]
//	                                  file, line, function; the rest from torch.fx
//	stack LABEL FRAME...              innermost frame first
//	note LABEL [action=T] [compile_context=T] [user_metadata=T] [category=T] [layer=T]
//	     [role=T] [shape=T] [dtype=T] [internal=T] [pool=N,N] [forward=T]...
//	device N [overflowed] [max=N]     what follows belongs to it
//	pinned                            what follows belongs to pinned host memory
//	KIND ADDR SIZE [@N] [stream=N] [stack=LABEL] [note=LABEL]
//	segment ADDR SIZE [device=N] [allocated=N] [active=N] [requested=N]
//	     [stream=N] [type=T] [pool=N,N] [expandable=BOOL] [stack=LABEL] [unaddressed] [unsized]
//	block ADDR SIZE [STATE] [as=T] [requested=N] [stack=LABEL] [note=LABEL]
//	     [history] [unaddressed] [unsized]   of the last segment
//	tenant ADDR N [stack=LABEL]       in the history of the last block
//
// KIND is a name of [Kind], STATE one of [BlockState]. T is text in double
// quotes with Go's escapes, or - where there is none. N is a number in Go's
// notation, @N a time in microseconds. A LABEL is a word of the writer's
// choice; the stack - is the known-empty one. ADDR and SIZE of an event may be
// - when it has none, and an event of the default stream has no stream=, one
// without a stream has stream=-. For an oom, ADDR is the device's free bytes.
// "unaddressed" and "unsized" say that the address or size was worked out and
// not given; as= is a state's name as written, when STATE does not say it. What
// a line does not mention, its writer did not know.
//
// VALUE is null, true, false, an integer, a float (which has a point, an
// exponent, or is nan, +inf or -inf), T, [VALUE, ...] or {T: VALUE, ...}.

const textHeader = "memtop-trace 1"

const (
	textLineLimit  = 16 << 20 // bytes in a line
	textDepthLimit = 100      // nested setting values
)

// TextError says what is wrong with a trace's text form, and where.
type TextError struct {
	Line   int // the first is 1
	Reason string
}

func (e *TextError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }
