package tracetest

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

func (p *textReader) frame(f *textFields) error {
	label := f.label(func(s string) bool { _, ok := p.frames[s]; return ok })
	frame := trace.Frame{File: f.name(f.next()), Line: f.integer32(f.next()), Name: f.name(f.next())}
	var fx trace.FX
	for key, value := range f.attributes() {
		switch key {
		case "op":
			fx.Op = f.name(value)
		case "node":
			fx.NodeName = f.name(value)
		case "target":
			fx.Target = f.name(value)
		case "original":
			fx.OriginalTrace = f.name(value)
		case "info":
			fx.Info = f.name(value)
		default:
			f.unknown(key)
		}
	}
	id := p.in.Frame(frame)
	p.frames[label] = id
	if fx != (trace.FX{}) {
		p.in.SetFX(id, fx)
	}
	return nil
}

func (p *textReader) stack(f *textFields) error {
	label := f.label(func(s string) bool { _, ok := p.stacks[s]; return ok })
	var frames []trace.FrameID
	for word := f.next(); word != ""; word = f.next() {
		id, ok := p.frames[word]
		if !ok {
			f.fail("there is no frame %.20q yet", word)
		}
		frames = append(frames, id)
	}
	p.stacks[label] = p.in.Stack(frames)
	return nil
}

func (p *textReader) note(f *textFields) error {
	label := f.label(func(s string) bool { _, ok := p.notes[s]; return ok })
	var n trace.Note
	var forward []trace.StringID
	for key, value := range f.attributes() {
		switch key {
		case "internal":
			n.Internal = f.name(value)
		case "pool":
			n.Pool = f.pool(value)
		case "forward":
			if forward == nil {
				forward = []trace.StringID{}
			}
			if value != "-" {
				forward = append(forward, f.name(value))
			}
		default:
			if i := slices.Index(trace.NoteTexts[:], key); i >= 0 {
				*n.Texts()[i] = f.name(value)
			} else {
				f.unknown(key)
			}
		}
	}
	if forward != nil {
		n.Forward = p.in.List(forward)
	}
	p.notes[label] = p.in.Note(n)
	return nil
}
