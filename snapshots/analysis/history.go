package analysis

import (
	"sort"

	"memtop/snapshots/trace"
)

// # What stays after a step
//
// In the middle of a step memory is full of what the step needs; right after it
// only what was meant to stay is left, and what was forgotten. So sites are
// compared at the ends of steps. One walk over the events counts what each site
// holds and notes, at the end of each step, the sites that hold something else
// than at the end of the step before: in a program in a steady state there are
// none, so that the notes are few however long it runs. The first notes are of
// the moment before the first step.

// holds is what a site holds from the end of a step on.
type holds struct {
	moment int32 // place in history.moments
	count  int32
	bytes  int64
}

// moment is the end of a step.
type moment struct {
	event    int   // its last
	number   int64 // of the step
	turnover int64 // bytes that were allocated since the moment before
}

// history is what sites held at the end of each step.
type history struct {
	moments []moment
	sites   [][]holds // by place of the site
	now     []holds   // after the events read
	made    [][]holds // by place, what sites allocated from the end of a step on until the next
	making  []holds   // since the last moment
	makers  []int32   // sites that allocated before the last moment
	changed []int32   // sites that changed since the last moment
	marked  []bool    // sites in changed
	n       int       // events read
	next    int       // step end that comes next
	heldN   int
	passed  int64 // bytes allocated since the last moment
}

func (x *Index) history() *history {
	return x.kept.history.get(x, func(h *history) *history {
		s, c := x.sites(), x.calendar()
		if h == nil || c.read == 0 || h.heldN != len(x.life.Held) {
			h = new(history)
		}
		h.grow(len(s.list))
		if h.n == 0 {
			h.begin(x, s)
		}
		h.advance(x, s, c)
		return h
	})
}

// grow makes room for sites that are new.
func (h *history) grow(n int) {
	for len(h.sites) < n {
		h.sites, h.now, h.marked = append(h.sites, nil), append(h.now, holds{}), append(h.marked, false)
		h.made, h.making = append(h.made, nil), append(h.making, holds{})
	}
}

func (h *history) begin(x *Index, s *sites) {
	h.heldN = len(x.life.Held)
	for k := range x.life.Held {
		held := &x.life.Held[k]
		h.change(s.place(held.Stack, held.Note, held.FreeStack), 1, held.Size)
	}
}

// advance reads the events that came since.
func (h *history) advance(x *Index, s *sites, c *calendar) {
	for h.n < x.events.Len() {
		span := x.events.Span(h.n)
		for j := range span {
			h.step(x, s, h.n+j, &span[j])
			switch {
			case h.next < len(c.ends) && h.n+j == int(c.ends[h.next].event):
				h.take(h.n+j, c.ends[h.next].number)
				h.next++
			case len(h.moments) == 0 && len(c.begins) > 0 && h.n+j == int(c.begins[0].event):
				h.take(h.n+j, c.begins[0].number-1)
			}
		}
		h.n += len(span)
	}
}

// step applies event i.
func (h *history) step(x *Index, s *sites, i int, e *trace.Event) {
	switch {
	case e.Kind == trace.Alloc:
		place := s.place(e.Stack, e.Note, false)
		h.passed += e.Size
		h.change(place, 1, e.Size)
		h.making[place].count++
		h.making[place].bytes += e.Size
		if x.life.Reused() > 0 {
			if id, ok := x.life.Displaced(i); ok {
				h.move(x, s, id, i-1, -1)
			}
		}
	case e.Kind.Closes():
		h.move(x, s, x.life.Ended(i), i-1, -1)
	case e.Kind == trace.Retag:
		if id, ok := x.life.Retagged(i); ok {
			h.move(x, s, id, i-1, -1)
			h.move(x, s, id, i, 1)
		}
	}
}

// move adds an allocation, times sign, to the site that it was of right after
// an event.
func (h *history) move(x *Index, s *sites, id trace.AllocationID, at int, sign int32) {
	var stack trace.StackID
	var size int64
	var free bool
	if k, held := id.Held(); held {
		stack, size, free = x.life.Held[k].Stack, x.life.Held[k].Size, x.life.Held[k].FreeStack
	} else {
		e := x.events.At(int(id))
		stack, size = e.Stack, e.Size
	}
	place := s.stacks[stack]
	if place == 0 || free {
		place = s.notes[x.life.NoteAt(id, at)]
	}
	h.change(place, sign, int64(sign)*size)
}

func (h *history) change(place, count int32, bytes int64) {
	now := &h.now[place]
	now.count += count
	now.bytes += bytes
	if !h.marked[place] {
		h.marked[place] = true
		h.changed = append(h.changed, place)
	}
}

// take notes what sites hold at the end of a step.
func (h *history) take(event int, number int64) {
	at := int32(len(h.moments))
	h.moments = append(h.moments, moment{event, number, h.passed})
	h.passed = 0
	for _, place := range h.makers {
		if !h.marked[place] {
			h.made[place] = note(h.made[place], at, holds{}) // it made nothing this time
		}
	}
	h.makers = h.makers[:0]
	for _, place := range h.changed {
		h.marked[place] = false
		if h.making[place].count > 0 {
			h.makers = append(h.makers, place)
		}
		h.sites[place] = note(h.sites[place], at, h.now[place])
		h.made[place] = note(h.made[place], at, h.making[place])
		h.making[place] = holds{}
	}
	h.changed = h.changed[:0]
}

// note adds what a site holds at a moment to its notes, if that is something else
// than before.
func note(notes []holds, at int32, now holds) []holds {
	if n := len(notes); n == 0 && now.count == 0 && now.bytes == 0 ||
		n > 0 && notes[n-1].count == now.count && notes[n-1].bytes == now.bytes {
		return notes
	}
	now.moment = at
	return append(notes, now)
}

// until returns how many moments there are up to an event.
func (h *history) until(event int) int {
	return sort.Search(len(h.moments), func(k int) bool { return h.moments[k].event > event })
}

// levels writes what a site held at the moments from from on, and allocated
// before each, into out.
func (h *history) levels(place int32, from int, out []sample) {
	read(h.sites[place], from, len(out), func(k int, n holds) { out[k].count, out[k].bytes = int(n.count), n.bytes })
	read(h.made[place], from, len(out), func(k int, n holds) { out[k].made, out[k].madeBytes = int(n.count), n.bytes })
}

// read calls yield with what notes say of the n moments from from on.
func read(notes []holds, from, n int, yield func(k int, n holds)) {
	k := sort.Search(len(notes), func(k int) bool { return int(notes[k].moment) > from }) - 1
	for m := range n {
		for k+1 < len(notes) && int(notes[k+1].moment) <= from+m {
			k++
		}
		if k >= 0 {
			yield(m, notes[k])
		}
	}
}

// fell returns the last moment in [0, until) at which a site that had grown by
// some allocations gave at least half of them back, and by how many it had
// grown; −1 when it never did.
func (h *history) fell(place int32, until int) (int, int) {
	at, most := -1, 0
	low, high := int32(0), int32(0)
	for k, n := range h.sites[place] {
		if int(n.moment) >= until {
			break
		}
		if k == 0 {
			low, high = n.count, n.count
		}
		if rise := high - low; rise > 1 && n.count <= low+rise/2 {
			at, most = int(n.moment), max(most, int(rise))
			low, high = n.count, n.count
		}
		low, high = min(low, n.count), max(high, n.count)
	}
	return at, most
}
