package events

import (
	"testing"

	"github.com/memtop/memtop/tui/page"
)

func TestRowsAndEventsAreInverse(t *testing.T) {
	tests := map[string]rows{
		"no marks":                   {events: 10},
		"no events":                  {},
		"marks at both ends":         {events: 5, marks: []page.Mark{{Event: 0}, {Event: 0}, {Event: 5}}},
		"several marks at one event": {events: 8, marks: []page.Mark{{Event: 3}, {Event: 3}, {Event: 3}, {Event: 4}}},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			if got, want := r.count(), 1+r.events+len(r.marks); got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
			marks := 0
			for i := range r.count() {
				got := r.at(i)
				if got.mark != nil {
					marks++
					continue
				}
				if back := r.of(got.event); back != i {
					t.Errorf("row %d is event %d, whose row is %d", i, got.event, back)
				}
			}
			if marks != len(r.marks) {
				t.Errorf("%d marks on the rows, want %d", marks, len(r.marks))
			}
		})
	}
}

func TestFilteredRows(t *testing.T) {
	r := rows{events: 100, filtered: true, hits: []int32{3, 50, 99}, marks: []page.Mark{{Event: 4}}}
	for event, want := range map[int]int{-1: 0, 3: 0, 4: 0, 50: 1, 98: 1, 99: 2} {
		if got := r.of(event); got != want {
			t.Errorf("event %d is on row %d, want %d", event, got, want)
		}
	}
	if got := r.at(1).event; got != 50 {
		t.Errorf("row 1 is event %d, want 50", got)
	}
	if got := r.at(7).event; got != -1 {
		t.Errorf("a row that is not there is event %d", got)
	}
	r.sorted, r.hits = true, []int32{50, 99, 3}
	if got := r.of(3); got != 2 {
		t.Errorf("sorted, event 3 is on row %d, want 2", got)
	}
}
