package tracetest

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// labels numbers entries of a table in the order of their first use: the
// number by id, 0 for one not used yet.
type labels struct {
	numbers []uint32
	used    uint32
}

func newLabels(n int) labels { return labels{numbers: make([]uint32, n)} }

// take gives id its number and reports whether it had none.
func (l *labels) take(id uint32) bool {
	if l.numbers[id] != 0 {
		return false
	}
	l.used++
	l.numbers[id] = l.used
	return true
}

// label writes a word and, right behind it, the label of id: a letter and its
// number.
func (p *textWriter) label(word string, letter byte, l *labels, id uint32) {
	p.word(word)
	p.buf = strconv.AppendUint(append(p.buf, letter), uint64(l.numbers[id]), 10)
}

func (p *textWriter) stack(id trace.StackID) {
	switch id {
	case 0:
	case trace.EmptyStack:
		p.word("stack=-")
	default:
		p.label("stack=", 's', &p.stacks, uint32(id))
	}
}

func (p *textWriter) note(id trace.NoteID) {
	if id != 0 {
		p.label("note=", 'n', &p.notes, uint32(id))
	}
}

// define writes the lines that the next line's stack and note need.
func (p *textWriter) define(stack trace.StackID, note trace.NoteID) {
	if stack > trace.EmptyStack && p.stacks.take(uint32(stack)) {
		p.defineStack(stack)
	}
	if note != 0 && p.notes.take(uint32(note)) {
		p.label("note ", 'n', &p.notes, uint32(note))
		p.noteFields(&p.t.Tables.Notes[note])
		p.end()
	}
}

func (p *textWriter) defineStack(id trace.StackID) {
	frames := p.t.Tables.Stack(id)
	for _, f := range frames {
		if p.frames.take(uint32(f)) {
			p.defineFrame(f)
		}
	}
	p.label("stack ", 's', &p.stacks, uint32(id))
	for _, f := range frames {
		p.label("", 'f', &p.frames, uint32(f))
	}
	p.end()
}

func (p *textWriter) defineFrame(id trace.FrameID) {
	f := p.t.Tables.Frames[id]
	p.label("frame ", 'f', &p.frames, uint32(id))
	p.name(f.File)
	p.integer(int64(f.Line))
	p.name(f.Name)
	if fx, ok := p.t.Tables.FrameFX[id]; ok {
		x := &p.t.Tables.FX[fx]
		p.text("op", x.Op)
		p.text("node", x.NodeName)
		p.text("target", x.Target)
		p.text("original", x.OriginalTrace)
		p.text("info", x.Info)
	}
	p.end()
}

func (p *textWriter) noteFields(n *trace.Note) {
	for i, text := range n.Texts() {
		p.text(trace.NoteTexts[i], *text)
	}
	p.text("internal", n.Internal)
	if n.Pool != 0 {
		p.pool(n.Pool)
	}
	if n.Forward == 0 {
		return
	}
	p.flag("forward=-", len(p.t.Tables.Lists[n.Forward]) == 0)
	for _, line := range p.t.Tables.Lists[n.Forward] {
		p.text("forward", line)
	}
}

func (p *textWriter) annotations() {
	if p.t.Annotations != nil {
		p.line("annotations")
	}
	for _, a := range p.t.Annotations {
		p.word("annotation")
		p.name(a.Name)
		p.name(a.Stage)
		p.key("device", int64(a.Device))
		p.word("@")
		p.buf = strconv.AppendInt(p.buf, a.Time, 10)
		p.end()
	}
}
