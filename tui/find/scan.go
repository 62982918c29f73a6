package find

import (
	"context"
	"sort"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
)

// slice is how many events one command searches. That takes tens of milliseconds,
// so that progress shows and a newer query need not wait.
const slice = 1 << 19

// Scan collects the events that match a query, a slice at a time, also later ones
// of a growing trace. The goroutine that updates the screen owns it.
type Scan struct {
	events  trace.Events
	matcher *Matcher
	hits    []int32
	next    int
	part    *part // the part being searched, nil for none
	asked   *ask.One[*part, []int32]
}

// part is a range of events to search. They never change.
type part struct {
	events   trace.Events
	matcher  *Matcher
	from, to int
}

// NewScan returns a scan of events without a query.
func NewScan(events trace.Events) *Scan {
	return &Scan{events: events, asked: ask.New(nil, scan)}
}

func scan(ctx context.Context, p *part) []int32 {
	var hits []int32
	for i := p.from; i < p.to; {
		if ctx.Err() != nil {
			return nil
		}
		span := p.events.Span(i)
		span = span[:min(len(span), p.to-i)]
		for j := range span {
			if p.matcher.Event(&span[j]) {
				hits = append(hits, int32(i+j))
			}
		}
		i += len(span)
	}
	return hits
}

// Look starts the search for a query; an empty query finds nothing.
func (s *Scan) Look(t *trace.Tables, query string) {
	s.matcher, s.part, s.hits, s.next = nil, nil, nil, 0
	s.asked.Stop()
	s.asked = ask.New(nil, scan) // a new One, because the old one holds the old events
	if query != "" {
		s.matcher = New(t, query)
	}
}

// Grow continues with events that have been added. t are the current tables,
// because the events may refer to new entries.
func (s *Scan) Grow(t *trace.Tables, events trace.Events) {
	if events.Len() == s.events.Len() {
		return
	}
	s.events = events
	if s.matcher != nil && !s.matcher.knows(t) {
		s.matcher = New(t, s.matcher.Query())
	}
}

// Restart searches other events for the same query.
func (s *Scan) Restart(t *trace.Tables, events trace.Events) {
	s.events = events
	s.Look(t, s.Query())
}

// Query returns the query, "" for none.
func (s *Scan) Query() string {
	if s.matcher == nil {
		return ""
	}
	return s.matcher.Query()
}

// Refresh takes the hits of a slice and returns the command for the next.
func (s *Scan) Refresh() tea.Cmd {
	if s.matcher == nil {
		return nil
	}
	if hits, ok := s.asked.Answer(); ok && s.part != nil && s.asked.Answered() == s.part {
		s.hits, s.next, s.part = append(s.hits, hits...), s.part.to, nil
	}
	if s.Done() {
		return nil
	}
	if s.part == nil {
		s.part = &part{s.events, s.matcher, s.next, min(s.next+slice, s.events.Len())}
	}
	return s.asked.Ask(s.part)
}

// Done reports whether all events have been searched.
func (s *Scan) Done() bool { return s.matcher == nil || s.next >= s.events.Len() }

// Share returns the searched share of the events, 0 to 1.
func (s *Scan) Share() float64 { return float64(s.next) / float64(max(s.events.Len(), 1)) }

// Hits returns the matching events found so far, ascending.
func (s *Scan) Hits() []int32 { return s.hits }

// After returns the first hit after event at.
func (s *Scan) After(at int) (int, bool) {
	k := sort.Search(len(s.hits), func(i int) bool { return int(s.hits[i]) > at })
	if k == len(s.hits) {
		return 0, false
	}
	return int(s.hits[k]), true
}

// Before returns the last hit before event at.
func (s *Scan) Before(at int) (int, bool) {
	k := sort.Search(len(s.hits), func(i int) bool { return int(s.hits[i]) >= at })
	if k == 0 {
		return 0, false
	}
	return int(s.hits[k-1]), true
}

// Has reports whether event at is a hit.
func (s *Scan) Has(at int) bool {
	k := sort.Search(len(s.hits), func(i int) bool { return int(s.hits[i]) >= at })
	return k < len(s.hits) && int(s.hits[k]) == at
}
