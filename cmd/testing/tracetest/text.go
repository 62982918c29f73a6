package tracetest

import (
	"encoding/json"
	"fmt"
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
// VALUE is JSON. A number with neither a point nor an exponent is an integer.

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
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return append(b, text...)
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

// readValue reads a setting's value.
func readValue(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		fail("no value: %v", err)
	}
	switch v := token.(type) {
	case json.Number:
		return number(string(v))
	case json.Delim:
		defer d.Token() //nolint:errcheck // what ends it
		if v == '[' {
			list := []any{}
			for d.More() {
				list = append(list, readValue(d))
			}
			return list
		}
		dict := []trace.Setting{}
		for d.More() {
			key, _ := readValue(d).(string)
			dict = append(dict, trace.Setting{Key: key, Value: readValue(d)})
		}
		return dict
	default:
		return v
	}
}

func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(text, 64) // what JSON takes for a number is one
	return f
}
