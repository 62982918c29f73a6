package trace

import (
	"iter"
	"slices"
)

const (
	chunkShift = 14
	chunkSize  = 1 << chunkShift
	chunkMask  = chunkSize - 1
)

// Events is an immutable run of events, numbered from 0. It is a small value:
// copy it freely. It does not show events that are appended later to the
// [EventLog] that it came from.
type Events struct {
	chunks [][]Event
	first  int32 // number in the log of event 0
	n      int32 // both are 32 bits long so that the value fits in registers
}

// Len returns how many events there are.
func (e Events) Len() int { return int(e.n) }

// At returns event i. The event must not be changed.
func (e Events) At(i int) *Event {
	if uint(i) >= uint(e.n) {
		panic("trace: event index out of range")
	}
	i += int(e.first)
	return &e.chunks[i>>chunkShift][i&chunkMask]
}

// Span returns the events from i up to the end of the chunk of memory that holds
// event i: at least one event and at most all.
func (e Events) Span(i int) []Event {
	if uint(i) >= uint(e.n) {
		panic("trace: event index out of range")
	}
	at := int(e.first) + i
	span := e.chunks[at>>chunkShift][at&chunkMask:]
	return span[:min(len(span), int(e.n)-i)]
}

// Range returns the events in [from, to) with their numbers.
func (e Events) Range(from, to int) iter.Seq2[int, *Event] {
	return func(yield func(int, *Event) bool) {
		for i := from; i < to; {
			span := e.Span(i)
			span = span[:min(len(span), to-i)]
			for k := range span {
				if !yield(i+k, &span[k]) {
					return
				}
			}
			i += len(span)
		}
	}
}

// Slice returns the events in [from, to).
func (e Events) Slice(from, to int) Events {
	if from < 0 || to < from || to > int(e.n) {
		panic("trace: event slice out of range")
	}
	return Events{chunks: e.chunks, first: e.first + int32(from), n: int32(to - from)}
}

// EventLog is an append-only list of events. It is owned by one goroutine; any
// goroutine may read the [Events] that it returns.
type EventLog struct {
	chunks [][]Event
	n      int
	next   Prepared[Event]
}

// manyChunks is from how many chunks on the next one is prepared.
const manyChunks = 8

func (l *EventLog) grow() {
	if len(l.chunks) < manyChunks {
		l.chunks = append(l.chunks, make([]Event, chunkSize))
	} else {
		l.chunks = append(l.chunks, l.next.Take(chunkSize))
	}
}

// Append adds e at the end and returns its number.
func (l *EventLog) Append(e Event) int {
	*l.Next() = e
	return l.n - 1
}

// Next adds an event of zeros at the end, and returns it to be filled in: of one that
// was just made elsewhere, a copy waits for all of its fields.
func (l *EventLog) Next() *Event {
	at := l.n
	if at>>chunkShift == len(l.chunks) {
		l.grow()
	}
	l.n++
	return &l.chunks[at>>chunkShift][at&chunkMask]
}

// Len returns how many events have been appended.
func (l *EventLog) Len() int { return l.n }

// At returns event i. Only the owner may call At, and the owner may change the
// event until Events has returned it.
func (l *EventLog) At(i int) *Event { return &l.chunks[i>>chunkShift][i&chunkMask] }

// Events returns the events that have been appended so far. The log never writes
// to their memory again: it writes only to the part of the last chunk past Len.
func (l *EventLog) Events() Events {
	return Events{chunks: l.chunks[:len(l.chunks):len(l.chunks)], n: int32(l.n)}
}

// Drop forgets the oldest events, as many whole chunks as fit into n events, and
// returns how many events it forgot. The other events are renumbered from 0. The
// memory becomes free when no [Events] refers to it any more.
func (l *EventLog) Drop(n int) int {
	chunks := min(max(n, 0), l.n) >> chunkShift
	l.chunks = slices.Clone(l.chunks[chunks:])
	l.n -= chunks << chunkShift
	return chunks << chunkShift
}
