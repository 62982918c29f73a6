package sensor

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// kind is the kind of an entry in an agent's message, as in link/queue.py.
type kind int64

const (
	stringsKind kind = iota
	framesKind
	stacksKind
	notesKind
	eventKind
	stepKind
	gaugesKind
	snapshotKind
	forgetKind
	lookedKind
	describeKind
	answerKind
	refuseKind
	missedKind
	byeKind
	surveyKind
)

// message handles the entries of an agent's message, in order.
func (l *link) message(text []byte) error {
	l.agent.adding.Lock()
	defer l.agent.adding.Unlock()
	r := &reader{b: text}
	for range r.items() {
		r.items()
		if err := l.entry(kind(r.number()), r); err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
	}
	return r.err
}

func (l *link) entry(k kind, r *reader) error {
	relay := l.agent.relay
	switch k {
	case stringsKind:
		relay.Strings(list(r, (*reader).text))
	case framesKind:
		relay.Frames(list(r, readFrame))
	case stacksKind:
		relay.Stacks(list(r, (*reader).numbers))
	case notesKind:
		relay.Notes(list(r, (*reader).numbers))
	case eventKind:
		if e := readEvent(r); r.err == nil {
			relay.Event(e)
		}
	case stepKind:
		return l.agent.step(r.bytes())
	case gaugesKind:
		return l.agent.gauges(r.bytes())
	case snapshotKind:
		if taken := readSnapshot(r); r.err == nil {
			relay.Snapshot(taken)
		}
	case forgetKind:
		relay.Forget()
	case lookedKind:
		l.agent.looked(time.Duration(r.number()))
	case describeKind:
		return l.agent.describe(r.bytes())
	case answerKind:
		l.agent.answered(r.number(), r.text())
	case refuseKind:
		relay.Refuse(r.text(), list(r, (*reader).text)...)
	case missedKind:
		relay.Missed(r.number())
	case byeKind:
		l.ended = r.text()
	case surveyKind:
		if device, s := readSurvey(r); r.err == nil {
			relay.Survey(device, s)
		}
	default:
		return fmt.Errorf("a message of the agent is of unknown kind %d", k)
	}
	return nil
}

func list[T any](r *reader, read func(*reader) T) []T {
	var all []T
	for range r.items() {
		all = append(all, read(r))
	}
	return all
}

func readFrame(r *reader) probe.AgentFrame {
	r.items()
	f := probe.AgentFrame{File: r.unsigned(), Function: r.unsigned()}
	f.Line = int32(min(max(r.number(), math.MinInt32), math.MaxInt32))
	return f
}

func readEvent(r *reader) trace.Event {
	e := trace.Event{Kind: trace.Other}
	if k := r.number(); k >= 0 && k < int64(trace.KindCount) {
		e.Kind = trace.Kind(k)
	}
	e.Addr, e.Size, e.Time = r.unsigned(), r.number(), r.number()
	e.Stack, e.Note = trace.StackID(short(r)), trace.NoteID(short(r))
	return e
}

// short reads the number of a name, 0 for one that no table can have.
func short(r *reader) uint32 {
	n := r.unsigned()
	if n > math.MaxUint32 {
		return 0
	}
	return uint32(n)
}

func readSnapshot(r *reader) *probe.Taken {
	t := &probe.Taken{Pickle: bytes.Clone(r.bytes())}
	for range r.items() {
		r.items()
		of := probe.DeviceTags{Device: int(r.number())}
		for range r.items() {
			r.items()
			of.Tags = append(of.Tags, trace.Tag{Addr: r.unsigned(), Note: trace.NoteID(short(r))})
		}
		t.Tags = append(t.Tags, of)
	}
	t.Steps = list(r, readDeviceStep)
	return t
}

func readDeviceStep(r *reader) probe.DeviceStep {
	r.items()
	s := probe.DeviceStep{Device: int(r.number()), Requests: r.number()}
	s.Begun = trace.Begun{Reserved: r.number(), Blocks: make(map[uint64]int64)}
	for range r.items() / 2 {
		addr := r.unsigned()
		s.Begun.Blocks[addr] = r.number()
	}
	return s
}
