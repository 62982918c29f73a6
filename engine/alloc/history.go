package alloc

import "github.com/memtop/memtop/snapshots/trace"

// history keeps the last events, up to a limit.
type history struct {
	limit  int // 0 keeps none
	events []trace.Event
	next   int  // where the next event goes, the end while there is room for more
	lost   bool // events were overwritten
}

// slot returns where the next event is to be written.
func (h *history) slot() *trace.Event {
	if h.next == len(h.events) {
		h.makeRoom()
	}
	e := &h.events[h.next]
	h.next++
	return e
}

// makeRoom adds an event, or begins to overwrite the oldest.
func (h *history) makeRoom() {
	if len(h.events) < h.limit {
		h.events = append(h.events, trace.Event{})
	} else {
		h.next, h.lost = 0, true
	}
}

// all returns the events, oldest first.
func (h *history) all() trace.Events {
	var log trace.EventLog
	for i := range h.events {
		log.Append(h.events[(h.next+i)%len(h.events)])
	}
	return log.Events()
}

// SetHistory keeps the last n events from now on, and forgets the events kept so
// far. 0 keeps none. An event takes 40 bytes. Safe for concurrent use.
func (a *Allocator) SetHistory(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history = history{limit: max(0, n)}
}

// recording says whether anybody gets the events.
func (a *Allocator) recording() bool { return a.recorder != nil || a.history.limit > 0 }

// tick reads the clock, once for all events of a call.
func (a *Allocator) tick() {
	if a.recording() {
		a.now = a.clock.now()
	}
}

// record reports an event to the recorder and the history; without both it costs
// two checks, at the place of the call.
func (a *Allocator) record(k trace.Kind, addr uint64, size int64, s *stream, stack trace.StackID, t Tag) {
	if a.recording() {
		a.report(k, addr, size, s, stack, t)
	}
}

func (a *Allocator) report(k trace.Kind, addr uint64, size int64, s *stream, stack trace.StackID, t Tag) {
	e := &a.latest
	if a.history.limit > 0 {
		e = a.history.slot()
	}
	a.write(e, k, addr, size, s, stack, t)
	if a.recorder != nil {
		a.recorder.Record(a.device, *e)
	}
}

// write makes e an event of the current call. It writes the event in its final
// place: a copy would stall on each field.
func (a *Allocator) write(e *trace.Event, k trace.Kind, addr uint64, size int64, s *stream, stack trace.StackID, t Tag) {
	e.Addr, e.Size, e.Time = addr, size, a.now
	e.Stack, e.Stream, e.Kind = stack, s.id, k
	e.Absent, e.Slack = 0, 0
	if e.Note = t.event; e.Note == 0 {
		e.Note = a.names.plain
	}
}
