package tracetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// fault is what a line of text is refused for, as a panic.
type fault string

func fail(format string, values ...any) { panic(fault(fmt.Sprintf(format, values...))) }

// reader is what has been read so far, and what is left of the line.
type reader struct {
	t      trace.Trace
	in     *trace.Interner
	frames map[string]trace.FrameID
	stacks map[string]trace.StackID
	notes  map[string]trace.NoteID
	device *trace.Device
	log    *trace.EventLog
	rest   string
}

// ParseText reads a trace in the text form, see "The text form" in text.go. The
// error says which line is wrong, and why.
func ParseText(from io.Reader) (t *trace.Trace, err error) {
	r := &reader{
		in: trace.NewInterner(), frames: map[string]trace.FrameID{}, stacks: map[string]trace.StackID{}, notes: map[string]trace.NoteID{},
	}
	r.t.Info.PickleProtocol = -1
	number := 0
	defer func() {
		if wrong := recover(); wrong != nil {
			reason, ours := wrong.(fault)
			if !ours {
				panic(wrong)
			}
			t, err = nil, fmt.Errorf("line %d: %s", number, string(reason))
		}
	}()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		number++
		if text := strings.TrimSpace(lines.Text()); number == 1 && text != textHeader {
			fail("the first line is not %q", textHeader)
		} else if number > 1 && text != "" && text[0] != '#' {
			r.line(text)
		}
	}
	if number == 0 {
		fail("the text is empty")
	}
	r.closeDevice()
	tables := r.in.View()
	r.t.Tables = &tables
	return &r.t, lines.Err()
}

func (r *reader) line(text string) {
	var word string
	word, r.rest, _ = strings.Cut(text, " ")
	switch word {
	case "info":
		r.fields(infoFields(&r.t.Info))
	case "notice":
		r.t.Notices = append(r.t.Notices, r.text(r.next()))
	case "settings":
		r.t.Settings = append([]trace.Setting{}, r.t.Settings...)
	case "setting":
		s := trace.Setting{Key: r.text(r.next())}
		d := json.NewDecoder(strings.NewReader(r.rest))
		d.UseNumber()
		s.Value = readValue(d)
		r.rest = r.rest[d.InputOffset():]
		r.t.Settings = append(r.t.Settings, s)
	case "annotations":
		r.t.Annotations = append([]trace.Annotation{}, r.t.Annotations...)
	case "annotation":
		a := trace.Annotation{Name: r.name(r.next()), Stage: r.name(r.next())}
		r.fields([]field{{key: "device", at: &a.Device}, {key: "@", at: &a.Time}})
		r.t.Annotations = append(r.t.Annotations, a)
	case "frame", "stack", "note":
		r.table(word, r.next())
	case "device":
		d := trace.Device{ID: int(integer(r.next()))}
		r.fields(deviceFields(&d))
		if n := len(r.t.Devices); n > 0 && r.t.Devices[n-1].ID >= d.ID {
			fail("device %d comes after device %d", d.ID, r.t.Devices[n-1].ID)
		}
		r.closeDevice()
		r.t.Devices = append(r.t.Devices, d)
		r.device = &r.t.Devices[len(r.t.Devices)-1]
	case "pinned":
		r.closeDevice()
		r.t.Pinned = &trace.Device{ID: -1}
		r.device = r.t.Pinned
	default:
		r.content(word)
	}
	if left := r.next(); left != "" {
		fail("%.20q does not belong here", left)
	}
}

func (r *reader) closeDevice() {
	if r.device != nil {
		r.device.Events = r.log.Events()
	}
	r.log = new(trace.EventLog)
}

// table reads a frame, a stack or a note, which gets a label.
func (r *reader) table(kind, label string) {
	switch kind {
	case "frame":
		frame := trace.Frame{File: r.name(r.next()), Line: int32(integer(r.next())), Name: r.name(r.next())}
		var fx trace.FX
		r.fields(fxFields(&fx))
		r.frames[label] = r.in.Frame(frame)
		if fx != (trace.FX{}) {
			r.in.SetFX(r.frames[label], fx)
		}
	case "stack":
		var frames []trace.FrameID
		for word := r.next(); word != ""; word = r.next() {
			frames = append(frames, known(r.frames, "frame", word))
		}
		r.stacks[label] = r.in.Stack(frames)
	default:
		var n trace.Note
		r.fields(noteFields(&n))
		r.notes[label] = r.in.Note(n)
	}
}

// content reads a line of what is within a device.
func (r *reader) content(word string) {
	kind := trace.KindOf(word)
	if within := []string{"segment", "block", "tenant", "other"}; kind == trace.Other && !slices.Contains(within, word) {
		fail("%.20q is not a kind of line", word)
	}
	if r.device == nil {
		fail("no device line comes before this one")
	}
	segments := &r.device.Final.Segments
	if word != "block" && word != "tenant" && word != "segment" {
		r.event(kind)
		return
	}
	addr, size := address(r.next()), integer(r.next())
	const given = trace.GaveAddr | trace.GaveSize
	if word == "segment" {
		s := trace.Segment{Addr: addr, Size: size, Given: given}
		r.fields(segmentFields(&s))
		*segments = append(*segments, s)
		return
	}
	if len(*segments) == 0 {
		fail("no segment line comes before this one")
	}
	blocks := &(*segments)[len(*segments)-1].Blocks
	if word == "block" {
		b := trace.Block{Addr: addr, Size: size, Given: given}
		r.fields(blockFields(&b))
		*blocks = append(*blocks, b)
		return
	}
	if len(*blocks) == 0 {
		fail("no block line comes before this one")
	}
	h := trace.Tenant{Addr: addr, Requested: size}
	r.fields([]field{{key: "stack", at: &h.Stack}})
	b := &(*blocks)[len(*blocks)-1]
	b.History = append(b.History, h)
}

func (r *reader) event(kind trace.Kind) {
	e := trace.Event{Kind: kind, Absent: trace.NoTime}
	if word := r.next(); word == "-" {
		e.Absent |= trace.NoAddr
	} else {
		e.Addr = address(word)
	}
	if word := r.next(); word == "-" {
		e.Absent |= trace.NoSize
	} else {
		e.Size = integer(word)
	}
	for word := r.next(); word != ""; word = r.next() {
		if word == "stream=-" {
			e.Absent |= trace.NoStream
			continue
		}
		if word[0] == '@' {
			e.Absent &^= trace.NoTime
		}
		r.field(word, []field{{key: "@", at: &e.Time}, {key: "stream", at: &e.Stream}, {key: "stack", at: &e.Stack}, {key: "note", at: &e.Note}})
	}
	r.log.Append(e)
}

// fields reads what is left of the line.
func (r *reader) fields(all []field) {
	for word := r.next(); word != ""; word = r.next() {
		r.field(word, all)
	}
}

func (r *reader) field(word string, all []field) {
	key, text, valued := strings.Cut(word, "=")
	if word[0] == '@' {
		key, text, valued = "@", word[1:], true
	}
	i := slices.IndexFunc(all, func(f field) bool { return f.key == key && valued == f.valued() })
	if state := slices.IndexFunc(all, func(f field) bool { return f.key == "" }); i < 0 && state >= 0 && !valued {
		i, text = state, word
	}
	if i < 0 {
		fail("%.20q does not belong here", key)
	}
	f := &all[i]
	r.set(f.at, text)
	switch {
	case f.not:
		*f.given &^= f.flag
	case f.given != nil:
		*f.given |= f.flag
	}
}

// valued reports whether a field's word has a value.
func (f *field) valued() bool {
	_, truth := f.at.(*bool)
	return f.at != nil && (!truth || f.given != nil)
}

// set reads a value to where a pointer points.
func (r *reader) set(at any, text string) {
	switch at := at.(type) {
	case nil:
	case *string:
		*at = r.text(text)
	case *int:
		*at = int(integer(text))
	case *int32:
		*at = int32(integer(text))
	case *int64:
		*at = integer(text)
	case *bool:
		*at = text != "false"
	case *trace.StringID:
		*at = r.name(text)
	case *trace.StreamID:
		*at = r.in.Stream(address(text))
	case *trace.PoolID:
		first, second, _ := strings.Cut(text, ",")
		*at = r.in.Pool(trace.Pool{integer(first), integer(second)})
	case *trace.StackID:
		if *at = trace.EmptyStack; text != "-" {
			*at = known(r.stacks, "stack", text)
		}
	case *trace.NoteID:
		*at = known(r.notes, "note", text)
	case *trace.ListID: // a line more
		lines := []trace.StringID{}
		if *at != 0 {
			lines = slices.Clone(r.in.Lists[*at])
		}
		if text != "-" {
			lines = append(lines, r.name(text))
		}
		*at = r.in.List(lines)
	case *trace.BlockState:
		for *at = 0; at.String() != text; *at++ {
			if *at == trace.UnknownState {
				fail("%.20q does not belong here", text)
			}
		}
	}
}

func known[ID any](ids map[string]ID, what, label string) ID {
	id, ok := ids[label]
	if !ok {
		fail("there is no %s %.20q yet", what, label)
	}
	return id
}

// next returns the next word, "" at the end. Text in quotes belongs to the
// word it stands in, white space and all.
func (r *reader) next() string {
	r.rest = strings.TrimLeft(r.rest, " \t")
	end := 0
	for end < len(r.rest) && r.rest[end] != ' ' && r.rest[end] != '\t' {
		prefix := r.rest[end : end+1]
		if prefix == `"` {
			var err error
			if prefix, err = strconv.QuotedPrefix(r.rest[end:]); err != nil {
				fail("text in quotes does not end")
			}
		}
		end += len(prefix)
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	return word
}

func (r *reader) text(word string) string {
	if !strings.HasPrefix(word, `"`) {
		fail("%.20q is not text in quotes", word)
	}
	s, err := strconv.Unquote(word)
	if err != nil {
		fail("%.20q is not text in quotes", word)
	}
	return s
}

// name interns text; - is none.
func (r *reader) name(word string) trace.StringID {
	if word == "-" {
		return 0
	}
	return r.in.String(r.text(word))
}

func integer(word string) int64 {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		fail("%.20q is not a whole number of 64 bits", word)
	}
	return n
}

func address(word string) uint64 {
	n, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		fail("%.20q is not an address", word)
	}
	return n
}
