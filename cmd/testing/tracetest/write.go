package tracetest

import (
	"fmt"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// writer writes the text form. Frames, stacks and notes stand before their first
// use and are numbered in that order, so two traces that mean the same have the
// same text, however their tables are numbered.
type writer struct {
	out                   []byte // the lines that are complete
	line                  []byte
	t                     *trace.Trace
	frames, stacks, notes map[uint32]int // labels
}

func text(t *trace.Trace) string {
	w := &writer{t: t, frames: map[uint32]int{}, stacks: map[uint32]int{}, notes: map[uint32]int{}}
	w.end(textHeader)
	w.word("info")
	w.fields(infoFields(&t.Info))
	w.end()
	for _, n := range t.Notices {
		w.end("notice", strconv.Quote(n))
	}
	if t.Settings != nil {
		w.end("settings")
	}
	for _, s := range t.Settings {
		w.end("setting", strconv.Quote(s.Key), string(value(nil, s.Value)))
	}
	if t.Annotations != nil {
		w.end("annotations")
	}
	for _, a := range t.Annotations {
		w.end("annotation", w.name(a.Name), w.name(a.Stage), fmt.Sprintf("device=%d @%d", a.Device, a.Time))
	}
	for i := range t.Devices {
		w.word("device " + strconv.Itoa(t.Devices[i].ID))
		w.fields(deviceFields(&t.Devices[i]))
		w.end()
		w.contents(&t.Devices[i])
	}
	if t.Pinned != nil {
		w.end("pinned")
		w.contents(t.Pinned)
	}
	return string(w.out)
}

func (w *writer) word(word string) {
	if len(w.line) > 0 {
		w.line = append(w.line, ' ')
	}
	w.line = append(w.line, word...)
}

// end ends the line with these words.
func (w *writer) end(words ...string) {
	for _, word := range words {
		w.word(word)
	}
	w.out = append(append(w.out, w.line...), '\n')
	w.line = w.line[:0]
}

// name is a string of the tables, - when absent.
func (w *writer) name(id trace.StringID) string {
	if id == 0 {
		return "-"
	}
	return strconv.Quote(w.t.Tables.Strings[id])
}

// contents writes what is within a device.
func (w *writer) contents(d *trace.Device) {
	for i := range d.Events.Len() {
		w.event(d.Events.At(i))
	}
	for i := range d.Final.Segments {
		s := &d.Final.Segments[i]
		w.define(s.Stack, 0)
		w.word(fmt.Sprintf("segment 0x%x %d", s.Addr, s.Size))
		w.fields(segmentFields(s))
		w.end()
		for k := range s.Blocks {
			w.block(&s.Blocks[k])
		}
	}
}

func (w *writer) block(b *trace.Block) {
	w.define(b.Stack, b.Note)
	w.word(fmt.Sprintf("  block 0x%x %d", b.Addr, b.Size))
	w.fields(blockFields(b))
	w.end()
	for _, h := range b.History {
		w.define(h.Stack, 0)
		w.word(fmt.Sprintf("    tenant 0x%x %d", h.Addr, h.Requested))
		w.fields([]field{{key: "stack", at: &h.Stack}})
		w.end()
	}
}

func (w *writer) event(e *trace.Event) {
	w.define(e.Stack, e.Note)
	w.word(e.Kind.String())
	switch {
	case e.Absent&trace.NoAddr != 0:
		w.word("-")
	case e.Kind == trace.OOM:
		w.word(strconv.FormatUint(e.Addr, 10))
	default:
		w.word("0x" + strconv.FormatUint(e.Addr, 16))
	}
	if e.Absent&trace.NoSize != 0 {
		w.word("-")
	} else {
		w.word(strconv.FormatInt(e.Size, 10))
	}
	if e.Absent&trace.NoTime == 0 {
		w.word("@" + strconv.FormatInt(e.Time, 10))
	}
	if e.Absent&trace.NoStream != 0 {
		w.word("stream=-")
	}
	w.fields([]field{{key: "stream", at: &e.Stream}, {key: "stack", at: &e.Stack}, {key: "note", at: &e.Note}})
	w.end()
}

// define writes the lines that the next line's stack and note need.
func (w *writer) define(stack trace.StackID, note trace.NoteID) {
	if _, defined := w.stacks[uint32(stack)]; stack > trace.EmptyStack && !defined {
		frames := w.t.Tables.Stack(stack)
		for _, f := range frames {
			w.defineFrame(f)
		}
		w.word(label("stack s", w.stacks, uint32(stack)))
		for _, f := range frames {
			w.word(label("f", w.frames, uint32(f)))
		}
		w.end()
	}
	if _, defined := w.notes[uint32(note)]; note != 0 && !defined {
		w.word(label("note n", w.notes, uint32(note)))
		w.fields(noteFields(&w.t.Tables.Notes[note]))
		w.end()
	}
}

func (w *writer) defineFrame(id trace.FrameID) {
	if _, defined := w.frames[uint32(id)]; defined {
		return
	}
	f := w.t.Tables.Frames[id]
	w.word(label("frame f", w.frames, uint32(id)))
	w.word(w.name(f.File) + " " + strconv.Itoa(int(f.Line)) + " " + w.name(f.Name))
	if fx, ok := w.t.Tables.FrameFX[id]; ok {
		w.fields(fxFields(&w.t.Tables.FX[fx]))
	}
	w.end()
}

// label returns words and the number of an entry, which is its place in the order of first uses.
func label(words string, numbers map[uint32]int, id uint32) string {
	if numbers[id] == 0 {
		numbers[id] = len(numbers) + 1
	}
	return words + strconv.Itoa(numbers[id])
}

func (w *writer) fields(all []field) {
	for i := range all {
		f := &all[i]
		if f.given != nil && (*f.given&f.flag != 0) == f.not {
			continue
		}
		w.field(f)
	}
}

// field writes a field, if it was given or is not zero.
func (w *writer) field(f *field) {
	set := func(is bool, text string) {
		if is || f.given != nil {
			w.word(f.key + "=" + text)
		}
	}
	tables := w.t.Tables
	switch at := f.at.(type) {
	case nil:
		w.word(f.key)
	case *bool:
		if f.given != nil {
			set(true, strconv.FormatBool(*at))
		} else if *at {
			w.word(f.key)
		}
	case *string:
		set(*at != "", strconv.Quote(*at))
	case *int: // of the file
		set(true, strconv.Itoa(*at))
	case *int32:
		set(*at != 0, strconv.Itoa(int(*at)))
	case *int64:
		set(*at != 0 || f.key == "bytes", strconv.FormatInt(*at, 10))
	case *trace.StringID:
		set(*at != 0, w.name(*at))
	case *trace.StreamID:
		set(*at != 0, "0x"+strconv.FormatUint(tables.Streams[*at], 16))
	case *trace.PoolID:
		set(*at != 0, fmt.Sprintf("%d,%d", tables.Pools[*at][0], tables.Pools[*at][1]))
	case *trace.StackID:
		if *at > trace.EmptyStack {
			set(true, label("s", w.stacks, uint32(*at)))
		} else {
			set(*at != 0, "-")
		}
	case *trace.NoteID:
		if *at != 0 {
			set(true, label("n", w.notes, uint32(*at)))
		}
	case *trace.ListID:
		for _, line := range tables.Lists[*at] {
			set(true, w.name(line))
		}
		set(*at != 0 && len(tables.Lists[*at]) == 0, "-")
	case *trace.BlockState:
		w.word(at.String())
	}
}
