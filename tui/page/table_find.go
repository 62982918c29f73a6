package page

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Back clears the filter, then the user's order, then the search, one at a time.
// It reports whether there was one.
func (t *Table[R, K]) Back() bool {
	switch {
	case t.Filter != "":
		t.Filter = ""
	case t.Order != t.first:
		t.Order = t.first
	case t.Search != "":
		t.Search = ""
	default:
		return false
	}
	call(t.Arranged)
	return true
}

func (t *Table[R, K]) filter(text string) tea.Cmd {
	t.Filter = text
	call(t.Arranged)
	return nil
}

func (t *Table[R, K]) search(text string) tea.Cmd {
	t.Search = text
	call(t.Arranged)
	if text == "" {
		return nil
	}
	return t.next(1)
}

// next goes to the next row that matches the search, around the ends.
func (t *Table[R, K]) next(direction int) tea.Cmd {
	if t.Search == "" {
		return Say("no search yet: press / to search")
	}
	seek := t.seek
	if t.Seek != nil {
		seek = t.Seek
	}
	if !seek(direction) {
		return Say("no " + t.Noun + " matches " + t.Search)
	}
	return nil
}

func (t *Table[R, K]) seek(direction int) bool {
	i, ok := Around(t.Count, t.Cursor, direction, func(i int) bool { return Matches(t.Columns, t.At(i), t.Search) })
	if ok {
		t.Center(i)
		t.moved()
	}
	return ok
}

// Around returns the nearest matching row after a row, or before it, among n
// rows. It wraps around the ends, and tries the row itself last.
func Around(n, from, direction int, matches func(i int) bool) (int, bool) {
	for step := 1; step <= n; step++ {
		if i := ((from+direction*step)%n + n) % n; matches(i) {
			return i, true
		}
	}
	return 0, false
}

// turn sorts by another column: it moves right by a number of columns, around the
// ends, through the visible columns and those that are never shown.
func (t *Table[R, K]) turn(step int) {
	var names []string
	for i := range t.Columns {
		col := &t.Columns[i]
		if never := col.Width == nil && col.Rest == 0; col.sorts() && (never || col.cells(t.rect.W-1) > 0) {
			names = append(names, col.order())
		}
	}
	if n := len(names); n > 0 {
		t.sort(Order{By: names[(max(slices.Index(names, t.Order.By), 0)+step+n)%n]})
	}
}

func (t *Table[R, K]) sort(o Order) {
	t.Order = o
	call(t.Arranged)
}

// clickHead sorts by the column at x. A second click inverts the order.
func (t *Table[R, K]) clickHead(x int) {
	var hit *Column[R]
	for _, col := range place(t.Columns, t.rect.W-1) {
		if hit == nil || x >= col.x && !col.Under {
			hit = col.Column
		}
	}
	if hit != nil && hit.sorts() {
		by := hit.order()
		t.sort(Order{by, t.Order.By == by && !t.Order.Inverse})
	}
}
