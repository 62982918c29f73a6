package tracetest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// WriteText writes t in the text form, for which see "The text form" in
// text.go. Frames, stacks and notes stand before their first use and are
// numbered in that order, so two traces that mean the same have the same text,
// however their tables are numbered.
func WriteText(w io.Writer, t *trace.Trace) error {
	p := &textWriter{
		w: bufio.NewWriterSize(w, 1<<16), t: t,
		frames: newLabels(len(t.Tables.Frames)),
		stacks: newLabels(t.Tables.StackCount()),
		notes:  newLabels(len(t.Tables.Notes)),
	}
	p.line(textHeader)
	p.info()
	p.annotations()
	for i := range t.Devices {
		p.device(&t.Devices[i])
	}
	if t.Pinned != nil {
		p.line("pinned")
		p.contents(t.Pinned)
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
	t   *trace.Trace
	buf []byte
	err error

	frames, stacks, notes labels
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
func (p *textWriter) name(id trace.StringID) {
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

func (p *textWriter) flag(word string, on bool) {
	if on {
		p.word(word)
	}
}

// text writes key="s" unless the string is absent.
func (p *textWriter) text(key string, id trace.StringID) {
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

func (p *textWriter) stream(id trace.StreamID) {
	p.word("stream=0x")
	p.buf = strconv.AppendUint(p.buf, p.t.Tables.Streams[id], 16)
}

func (p *textWriter) pool(id trace.PoolID) {
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
