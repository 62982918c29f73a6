package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// WriteText writes t in the text form. [ParseText] of it gives an equal trace,
// though its tables may be numbered otherwise.
func WriteText(w io.Writer, t *Trace) error {
	p := &textWriter{w: bufio.NewWriterSize(w, 1<<16), t: t}
	p.line(textHeader)
	p.info()
	p.tables()
	for i := range t.Devices {
		p.device(&t.Devices[i])
	}
	if p.err == nil {
		p.err = p.w.Flush()
	}
	if p.err != nil {
		return fmt.Errorf("writing a trace as text: %w", p.err)
	}
	return nil
}

// textWriter builds a line in buf and sends it with end. The first error
// stays and stops all writing.
type textWriter struct {
	w   *bufio.Writer
	t   *Trace
	buf []byte
	err error
}

func (p *textWriter) line(word string) {
	p.word(word)
	p.end()
}

func (p *textWriter) end() {
	p.buf = append(p.buf, '\n')
	switch {
	case p.err != nil:
	case len(p.buf) > textLineLimit:
		p.err = fmt.Errorf("a line of %d bytes, the limit is %d", len(p.buf), textLineLimit)
	default:
		_, p.err = p.w.Write(p.buf)
	}
	p.buf = p.buf[:0]
}

func (p *textWriter) word(word string) {
	if n := len(p.buf); n > 0 && p.buf[n-1] != ' ' {
		p.buf = append(p.buf, ' ')
	}
	p.buf = append(p.buf, word...)
}

func (p *textWriter) quoted(s string) {
	p.word("")
	p.buf = strconv.AppendQuote(p.buf, s)
}

// name writes a string of the tables, - when absent.
func (p *textWriter) name(id StringID) {
	if id == 0 {
		p.word("-")
		return
	}
	p.quoted(p.t.Tables.Strings[id])
}

func (p *textWriter) integer(n int64) {
	p.word("")
	p.buf = strconv.AppendInt(p.buf, n, 10)
}

func (p *textWriter) address(addr uint64) {
	p.word("0x")
	p.buf = strconv.AppendUint(p.buf, addr, 16)
}

func (p *textWriter) key(key string, n int64) {
	p.word(key)
	p.buf = strconv.AppendInt(append(p.buf, '='), n, 10)
}

// label writes key=label, the label being a letter and the number of id.
func (p *textWriter) label(key string, letter byte, id uint32) {
	p.word(key)
	p.buf = strconv.AppendUint(append(p.buf, letter), uint64(id), 10)
}

func (p *textWriter) flag(word string, on bool) {
	if on {
		p.word(word)
	}
}

// text writes key="s" unless the string is absent.
func (p *textWriter) text(key string, id StringID) {
	if id != 0 {
		p.word(key)
		p.buf = strconv.AppendQuote(append(p.buf, '='), p.t.Tables.Strings[id])
	}
}

func (p *textWriter) plain(key, s string) {
	if s != "" {
		p.word(key)
		p.buf = strconv.AppendQuote(append(p.buf, '='), s)
	}
}

func (p *textWriter) stack(id StackID) {
	switch id {
	case 0:
	case EmptyStack:
		p.word("stack=-")
	default:
		p.label("stack=", 's', uint32(id))
	}
}

func (p *textWriter) note(id NoteID) {
	if id != 0 {
		p.label("note=", 'n', uint32(id))
	}
}

func (p *textWriter) stream(id StreamID) {
	p.word("stream=0x")
	p.buf = strconv.AppendUint(p.buf, p.t.Tables.Streams[id], 16)
}

func (p *textWriter) pool(id PoolID) {
	pool := p.t.Tables.Pools[id]
	p.key("pool", pool[0])
	p.buf = strconv.AppendInt(append(p.buf, ','), pool[1], 10)
}

func (p *textWriter) info() {
	i := &p.t.Info
	p.word("info")
	p.plain("kind", i.Kind)
	p.plain("container", i.Container)
	p.plain("path", i.Path)
	p.plain("writer", i.Writer)
	p.key("protocol", int64(i.PickleProtocol))
	p.key("bytes", i.Bytes)
	p.key("lists", int64(i.TraceLists))
	p.flag("list", i.List)
	p.flag("notraces", i.NoTraces)
	p.flag("growing", i.Growing)
	p.flag("control", i.Control)
	p.flag("truncated", i.Truncated)
	p.end()
	for _, n := range p.t.Notices {
		p.word("notice")
		p.quoted(n)
		p.end()
	}
	if p.t.Settings != nil {
		p.line("settings")
	}
	for _, s := range p.t.Settings {
		p.word("setting")
		p.quoted(s.Key)
		p.word("")
		p.value(s.Value, 0)
		p.end()
	}
}

func (p *textWriter) tables() {
	t := p.t.Tables
	for id := 1; id < len(t.Frames); id++ {
		p.frame(FrameID(id))
	}
	for id := 2; id < t.StackCount(); id++ {
		p.label("stack ", 's', uint32(id))
		for _, f := range t.Stack(StackID(id)) {
			p.label("", 'f', uint32(f))
		}
		p.end()
	}
	for id := 1; id < len(t.Notes); id++ {
		p.label("note ", 'n', uint32(id))
		p.noteFields(&t.Notes[id])
		p.end()
	}
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

func (p *textWriter) frame(id FrameID) {
	f := p.t.Tables.Frames[id]
	p.label("frame ", 'f', uint32(id))
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

func (p *textWriter) noteFields(n *Note) {
	p.text("action", n.Action)
	p.text("compile", n.CompileContext)
	p.text("metadata", n.UserMetadata)
	p.text("category", n.Category)
	p.text("layer", n.Layer)
	p.text("role", n.Role)
	p.text("shape", n.Shape)
	p.text("dtype", n.DType)
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
