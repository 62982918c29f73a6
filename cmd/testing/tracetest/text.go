package tracetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

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

// field is a word KEY=VALUE, or a word alone: where its value is, and what says
// that it was given. Without that, zero values are not written.
type field struct {
	key   string
	at    any // a pointer; nil for a word alone that is only in given
	given *trace.Given
	flag  trace.Given
	not   bool // the word says that flag is not there
}

func infoFields(i *trace.Info) []field {
	return []field{
		{key: "kind", at: &i.Kind},
		{key: "container", at: &i.Container},
		{key: "path", at: &i.Path},
		{key: "writer", at: &i.Writer},
		{key: "protocol", at: &i.PickleProtocol},
		{key: "bytes", at: &i.Bytes},
		{key: "lists", at: &i.TraceLists},
		{key: "list", at: &i.List},
		{key: "notraces", at: &i.NoTraces},
		{key: "growing", at: &i.Growing},
		{key: "control", at: &i.Control},
		{key: "truncated", at: &i.Truncated},
	}
}

func fxFields(x *trace.FX) []field {
	return []field{
		{key: "op", at: &x.Op},
		{key: "node", at: &x.NodeName},
		{key: "target", at: &x.Target},
		{key: "original", at: &x.OriginalTrace},
		{key: "info", at: &x.Info},
	}
}

func noteFields(n *trace.Note) (all []field) {
	for i, at := range n.Texts() {
		all = append(all, field{key: trace.NoteTexts[i], at: at})
	}
	return append(all, field{key: "internal", at: &n.Internal}, field{key: "pool", at: &n.Pool}, field{key: "forward", at: &n.Forward})
}

func deviceFields(d *trace.Device) []field {
	return []field{{key: "overflowed", at: &d.Overflowed}, {key: "max", at: &d.MaxEvents}}
}

func segmentFields(s *trace.Segment) []field {
	g := &s.Given
	return []field{
		{"device", &s.Device, g, trace.GaveDevice, false},
		{"allocated", &s.Allocated, g, trace.GaveAllocated, false},
		{"active", &s.Active, g, trace.GaveActive, false},
		{"requested", &s.Requested, g, trace.GaveRequested, false},
		{"stream", &s.Stream, g, trace.GaveStream, false},
		{key: "type", at: &s.Type},
		{key: "pool", at: &s.Pool},
		{"expandable", &s.Expandable, g, trace.GaveExpandable, false},
		{key: "stack", at: &s.Stack},
		{"unaddressed", nil, g, trace.GaveAddr, true},
		{"unsized", nil, g, trace.GaveSize, true},
	}
}

func blockFields(b *trace.Block) []field {
	g := &b.Given
	return []field{
		{"", &b.State, g, trace.GaveState, false},
		{key: "as", at: &b.StateText},
		{"requested", &b.Requested, g, trace.GaveRequested, false},
		{key: "stack", at: &b.Stack},
		{key: "note", at: &b.Note},
		{"history", nil, g, trace.GaveHistory, false},
		{"unaddressed", nil, g, trace.GaveAddr, true},
		{"unsized", nil, g, trace.GaveSize, true},
	}
}

// value appends a setting's value.
func value(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return strconv.AppendQuote(b, v)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".eNI") {
			text += ".0"
		}
		return append(b, strings.ToLower(text)...)
	case []any:
		return list(append(b, '['), len(v), ']', func(b []byte, i int) []byte { return value(b, v[i]) })
	case []trace.Setting:
		return list(append(b, '{'), len(v), '}', func(b []byte, i int) []byte {
			return value(append(strconv.AppendQuote(b, v[i].Key), ": "...), v[i].Value)
		})
	default: // a truth or an integer
		return fmt.Append(b, v)
	}
}

func list(b []byte, n int, end byte, item func(b []byte, i int) []byte) []byte {
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = item(b, i)
	}
	return append(b, end)
}

// values reads values of settings.
type values struct{ rest string }

// next skips white space and returns the next byte, 0 at the end.
func (v *values) next() byte {
	v.rest = strings.TrimLeft(v.rest, " \t")
	if v.rest == "" {
		return 0
	}
	return v.rest[0]
}

// skip takes a byte that must be next.
func (v *values) skip(want byte) {
	if v.next() != want {
		fail("%.20q does not begin with %q", v.rest, want)
	}
	v.rest = v.rest[1:]
}

func (v *values) read() any {
	switch v.next() {
	case '"':
		return v.quoted()
	case '[':
		list := []any{}
		v.items('[', ']', func() { list = append(list, v.read()) })
		return list
	case '{':
		dict := []trace.Setting{}
		v.items('{', '}', func() { dict = append(dict, v.entry(':')) })
		return dict
	}
	end := strings.IndexAny(v.rest+" ", " \t,]}:")
	word := v.rest[:end]
	v.rest = v.rest[end:]
	if i := slices.Index([]string{"null", "true", "false"}, word); i >= 0 {
		return []any{nil, true, false}[i]
	}
	if n, err := strconv.ParseInt(word, 0, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(word, 0, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		fail("%.20q is not a value", word)
	}
	return f
}

func (v *values) quoted() string {
	v.next()
	prefix, err := strconv.QuotedPrefix(v.rest)
	if err != nil || prefix[0] != '"' {
		fail("%.20q does not begin with text in quotes", v.rest)
	}
	v.rest = v.rest[len(prefix):]
	text, _ := strconv.Unquote(prefix) // it is quoted
	return text
}

// entry reads a key, what follows it, and its value.
func (v *values) entry(between byte) trace.Setting {
	key := v.quoted()
	if between != 0 {
		v.skip(between)
	}
	return trace.Setting{Key: key, Value: v.read()}
}

func (v *values) items(begin, end byte, item func()) {
	v.skip(begin)
	for v.next() != end {
		item()
		if v.next() != end {
			v.skip(',')
		}
	}
	v.skip(end)
}
