package leak

import (
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// # What stays after a step
//
// In the middle of a step, memory is full of data that the step needs. Right
// after the step, only data that was meant to stay is left, and forgotten data.
// So memtop compares sites at the ends of steps. One walk over the events counts
// the memory of each site. At the end of each step it notes the sites that hold
// more or less than at the end of the step before. A program in a steady state
// has no such sites, so the notes stay few however long it runs. The first notes
// are of the moment before the first step.

// holds is what a site holds from the end of a step on.
type holds struct {
	moment int32 // place in History.moments
	count  int32
	bytes  int64
}

// moment is the end of a step.
type moment struct {
	event    int   // its last
	number   int64 // of the step
	turnover int64 // bytes that were allocated since the moment before
	found    bool  // there was memory before: a viewer that attached may have found it in the middle of a step
}

// Steps has the known steps of a program.
type Steps struct {
	Begins, Ends []StepEvent
	Changes      []int32 // events that tell of a changed setting
}

// StepEvent is the event at which a step begins or ends.
type StepEvent struct {
	Event  int32
	Number int64 // of the step
}

// History has the memory of each site at the end of each step. It is owned by one
// goroutine while it advances; in between, any number of goroutines may read it.
type History struct {
	life    *trace.Lifetimes
	known   *Sites
	steps   Steps
	moments []moment
	sites   [][]holds // by place of the site
	now     []holds   // after the events read
	changed []int32   // sites that changed since the last moment
	marked  []bool    // sites in changed
	n       int       // events read
	next    int       // step end that comes next
	heldN   int
	joins   int   // Sites.joins as the notes know them
	passed  int64 // bytes allocated since the last moment
}

// Advance reads the events and sites that came since, of the same trace. If the
// allocations from before the events have changed, or what the sites are, it begins
// anew.
func (h *History) Advance(life *trace.Lifetimes, sites *Sites, steps Steps) {
	if h.heldN != len(life.Held) || h.joins != sites.joins {
		*h = History{joins: sites.joins}
	}
	h.life, h.known, h.steps = life, sites, steps
	h.grow(len(sites.list))
	if h.n == 0 {
		h.heldN = len(life.Held)
		for k := range life.Held {
			held := &life.Held[k]
			h.change(sites.place(held.Stack, held.Note, held.FreeStack), 1, held.Size)
		}
	}
	h.advance()
}

// grow makes room for sites that are new.
func (h *History) grow(n int) {
	for len(h.sites) < n {
		h.sites, h.now, h.marked = append(h.sites, nil), append(h.now, holds{}), append(h.marked, false)
	}
}

// advance reads the events that came since.
func (h *History) advance() {
	events, begins, ends := h.life.Events(), h.steps.Begins, h.steps.Ends
	for i, e := range events.Range(h.n, events.Len()) {
		h.step(i, e)
		switch {
		case h.next < len(ends) && i == int(ends[h.next].Event):
			h.take(i, ends[h.next].Number)
			h.next++
		case len(h.moments) == 0 && len(begins) > 0 && i == int(begins[0].Event):
			h.take(i, begins[0].Number-1)
		}
	}
	h.n = events.Len()
}

// step applies event i.
func (h *History) step(i int, e *trace.Event) {
	if e.Kind == trace.Alloc {
		h.passed += e.Size
	}
	leaves, joins := h.life.Change(i, e.Kind)
	if joins != trace.NoAllocation && joins == leaves {
		h.rename(joins, i)
		return
	}
	if leaves != trace.NoAllocation {
		place, size := h.site(leaves, i-1)
		h.change(place, -1, -size)
	}
	if joins != trace.NoAllocation {
		place, size := h.site(joins, i)
		h.change(place, 1, size)
	}
}

// site returns the place of the site that an allocation was of right after an
// event, and its size.
func (h *History) site(id trace.AllocationID, at int) (place int32, size int64) {
	a := h.life.AllocationAt(id, at)
	return h.known.place(a.Stack, a.Note, a.FreeStack), a.Size
}

// rename moves an allocation to the site that event i says it is of. It was of that
// site all the time, so its past moves too: learning what memory is for is no growth.
// What something was seen to keep was kept until then.
func (h *History) rename(id trace.AllocationID, i int) {
	from, size := h.site(id, i-1)
	to, _ := h.site(id, i)
	if from == to {
		return
	}
	since := 0
	if _, held := id.Held(); !held {
		since = h.until(int(id))
	}
	if note := h.known.list[from].note; note <= 0 || !h.known.kept[note] { // else a keeper has it
		h.sites[from] = shifted(h.sites[from], int32(since), len(h.moments), -1, -size)
		h.sites[to] = shifted(h.sites[to], int32(since), len(h.moments), 1, size)
	}
	h.change(from, -1, -size)
	h.change(to, 1, size)
}

// shifted adds to what notes say of the moments from since on, of which there are n.
func shifted(notes []holds, since int32, n int, count int32, bytes int64) []holds {
	if int(since) >= n {
		return notes
	}
	k := sort.Search(len(notes), func(k int) bool { return notes[k].moment >= since })
	if k == len(notes) || notes[k].moment > since {
		before := holds{}
		if k > 0 {
			before = notes[k-1]
		}
		before.moment = since
		notes = slices.Insert(notes, k, before)
	}
	for ; k < len(notes); k++ {
		notes[k].count += count
		notes[k].bytes += bytes
	}
	return notes
}

func (h *History) change(place, count int32, bytes int64) {
	now := &h.now[place]
	now.count += count
	now.bytes += bytes
	if !h.marked[place] {
		h.marked[place] = true
		h.changed = append(h.changed, place)
	}
}

// take notes what sites hold at the end of a step.
func (h *History) take(event int, number int64) {
	at := int32(len(h.moments))
	h.moments = append(h.moments, moment{event, number, h.passed, len(h.moments) == 0 && h.heldN > 0})
	h.passed = 0
	for _, place := range h.changed {
		h.marked[place] = false
		h.sites[place] = note(h.sites[place], at, h.now[place])
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
func (h *History) until(event int) int {
	return sort.Search(len(h.moments), func(k int) bool { return h.moments[k].event > event })
}

// levels writes what a site held at the moments from from on into out.
func (h *History) levels(place int32, from int, out []sample) {
	notes := h.sites[place]
	k := sort.Search(len(notes), func(k int) bool { return int(notes[k].moment) > from }) - 1
	for m := range out {
		for k+1 < len(notes) && int(notes[k+1].moment) <= from+m {
			k++
		}
		if k >= 0 {
			out[m].Count, out[m].Bytes = int(notes[k].count), notes[k].bytes
		}
	}
}

// fell returns the last moment in [0, until) at which a site that had grown by
// some allocations gave at least half of them back, and by how many it had
// grown; −1 when it never did.
func (h *History) fell(place int32, until int) (int, int) {
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
