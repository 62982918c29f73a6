package tracetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// ParseText reads a trace in the text form, for which see "The text form" in
// text.go. If the text is wrong, the error is a *[TextError]. An error of the
// reader is returned unchanged. ParseText takes a small multiple of the text in
// memory.
func ParseText(r io.Reader) (*trace.Trace, error) {
	p := &textReader{
		in: trace.NewInterner(), frames: map[string]trace.FrameID{}, stacks: map[string]trace.StackID{}, notes: map[string]trace.NoteID{},
	}
	p.t.Info.PickleProtocol = -1
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), textLineLimit)
	number := 0
	for lines.Scan() {
		number++
		if err := p.line(number, lines.Text()); err != nil {
			return nil, &TextError{number, err.Error()}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &TextError{number + 1, fmt.Sprintf("longer than %d bytes", textLineLimit)}
	} else if err != nil {
		return nil, err
	}
	if number == 0 {
		return nil, &TextError{1, "the text is empty"}
	}
	p.closeDevice()
	tables := p.in.View()
	p.t.Tables = &tables
	return &p.t, nil
}

// textReader is what has been read so far.
type textReader struct {
	t      trace.Trace
	in     *trace.Interner
	frames map[string]trace.FrameID
	stacks map[string]trace.StackID
	notes  map[string]trace.NoteID
	device *trace.Device
	log    *trace.EventLog
}

func (p *textReader) line(number int, text string) error {
	if number == 1 {
		if strings.TrimSpace(text) != textHeader {
			return fmt.Errorf("the first line is not %q", textHeader)
		}
		return nil
	}
	text = strings.TrimSpace(text)
	if text == "" || text[0] == '#' {
		return nil
	}
	word, rest, _ := strings.Cut(text, " ")
	f := &textFields{p: p, rest: rest}
	read, known := textLines[word]
	if !known {
		kind := trace.KindOf(word)
		if kind == trace.Other && word != "other" {
			return fmt.Errorf("%.20q is not a kind of line", word)
		}
		return p.event(kind, f)
	}
	if err := read(p, f); err != nil {
		return err
	}
	if left := f.next(); left != "" {
		f.unknown(left)
	}
	return f.err
}

// textLines has the reader of every kind of line but events. Each leaves its
// error in the fields or returns it.
var textLines = map[string]func(*textReader, *textFields) error{
	"info":        (*textReader).info,
	"notice":      (*textReader).notice,
	"settings":    (*textReader).settings,
	"setting":     (*textReader).setting,
	"annotations": (*textReader).annotations,
	"annotation":  (*textReader).annotation,
	"frame":       (*textReader).frame,
	"stack":       (*textReader).stack,
	"note":        (*textReader).note,
	"device":      (*textReader).startDevice,
	"pinned":      (*textReader).startPinned,
	"segment":     (*textReader).segment,
	"block":       (*textReader).block,
	"tenant":      (*textReader).tenant,
}

func (p *textReader) info(f *textFields) error {
	i := &p.t.Info
	for key, value := range f.attributes() {
		switch key {
		case "kind":
			i.Kind = f.text(value)
		case "container":
			i.Container = f.text(value)
		case "path":
			i.Path = f.text(value)
		case "writer":
			i.Writer = f.text(value)
		case "protocol":
			i.PickleProtocol = int(f.integer32(value))
		case "bytes":
			i.Bytes = f.integer(value)
		case "lists":
			i.TraceLists = int(f.integer32(value))
		default:
			p.infoFlag(f, key)
		}
	}
	return nil
}

func (p *textReader) infoFlag(f *textFields, key string) {
	i := &p.t.Info
	switch key {
	case "list":
		i.List = true
	case "notraces":
		i.NoTraces = true
	case "growing":
		i.Growing = true
	case "control":
		i.Control = true
	case "truncated":
		i.Truncated = true
	default:
		f.unknown(key)
	}
}

func (p *textReader) notice(f *textFields) error {
	p.t.Notices = append(p.t.Notices, f.text(f.next()))
	return nil
}

func (p *textReader) settings(*textFields) error {
	if p.t.Settings == nil {
		p.t.Settings = []trace.Setting{}
	}
	return nil
}

func (p *textReader) setting(f *textFields) error {
	v := textValue{rest: f.rest}
	v.space()
	key, err := v.quoted()
	if err != nil {
		return err
	}
	value, err := v.read(0)
	if err != nil {
		return err
	}
	if v.space() != 0 {
		return fmt.Errorf("%.20q follows the value", v.rest)
	}
	f.rest = ""
	p.t.Settings = append(p.t.Settings, trace.Setting{Key: key, Value: value})
	return nil
}

func (p *textReader) annotations(*textFields) error {
	if p.t.Annotations == nil {
		p.t.Annotations = []trace.Annotation{}
	}
	return nil
}

func (p *textReader) annotation(f *textFields) error {
	a := trace.Annotation{Name: f.name(f.next()), Stage: f.name(f.next())}
	for key, value := range f.attributes() {
		switch key {
		case "device":
			a.Device = f.integer32(value)
		case "@":
			a.Time = f.integer(value)
		default:
			f.unknown(key)
		}
	}
	p.t.Annotations = append(p.t.Annotations, a)
	return nil
}
