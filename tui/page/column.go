package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/screen"
)

// Column is one column of a table of rows R: its content, its width, how it sorts
// the rows, and whether search and filter look at it. A column with neither Width
// nor Rest is never shown.
//
// If a command arranges the rows, then Text, Value and Compare may read only the
// row and data behind the scene's gate.
type Column[R any] struct {
	Head  string          // the heading; it also names the column in an [Order]
	Width func(w int) int // its width in a table of w cells, 0 to hide it; see Cells, From and Below
	Rest  int             // it also takes the cells that other columns leave, up to this many
	Gap   int             // cells after it, 0 for one
	Left  bool            // text begins at the left; a number ends at the right

	Text  func(r R) string
	Style func(r R) screen.Style     // nil for the table's style
	Draw  func(c screen.Canvas, r R) // used instead of Text, draws into the column's cells of the row
	Over  func(r R) string           // if not empty, replaces this column and all columns after it
	Still bool                       // a picture: the selection does not change how it looks
	Total func() string              // the text in the row of totals; nil for none
	Under bool                       // belongs to the column before it: a click on its head sorts by that one

	Searched bool             // search and filter look at Text
	Natural  bool             // rows arrive in its order
	Value    func(r R) int64  // sorts by this number, the largest first
	Compare  func(a, b R) int // or sorts by this
}

// Cells is the width rule of a column with always n cells.
func Cells(n int) func(int) int { return From(0, n) }

// From is the width rule of a column with n cells in a table of at least that
// width.
func From(least, n int) func(int) int {
	return func(w int) int {
		if w < least {
			return 0
		}
		return n
	}
}

// Below is the width rule of a column with n cells in a table narrower than most.
func Below(most, n int) func(int) int { return func(w int) int { return n - From(most, n)(w) } }

// All is the Rest of a column that takes all cells that others leave.
const All = 1 << 30

// leastRest is the smallest width of a column with Rest.
const leastRest = 4

// Order says how rows are sorted: by the column with that head, or as they
// arrive.
type Order struct {
	By      string
	Inverse bool
}

// order is the name of the column in an Order.
func (col *Column[R]) order() string {
	if col.Natural {
		return ""
	}
	return col.Head
}

func (col *Column[R]) sorts() bool { return col.Natural || col.Value != nil || col.Compare != nil }

// cells is the column's width in a table of w, before it takes the rest.
func (col *Column[R]) cells(w int) int {
	switch {
	case col.Width != nil:
		return col.Width(w)
	case col.Rest > 0:
		return leastRest
	}
	return 0
}

func (col *Column[R]) compare(a, b R) int {
	if col.Compare != nil {
		return col.Compare(a, b)
	}
	return cmp.Compare(col.Value(b), col.Value(a))
}

// Sort puts rows into an order. The sort is stable.
func Sort[R any](rows []R, columns []Column[R], o Order) {
	at := slices.IndexFunc(columns, func(col Column[R]) bool { return col.sorts() && col.order() == o.By })
	switch {
	case at >= 0 && !columns[at].Natural && o.Inverse:
		slices.SortStableFunc(rows, func(a, b R) int { return columns[at].compare(b, a) })
	case at >= 0 && !columns[at].Natural:
		slices.SortStableFunc(rows, columns[at].compare)
	case o.Inverse:
		slices.Reverse(rows)
	}
}

// Matches reports whether the searched columns of a row contain every word of a
// query.
func Matches[R any](columns []Column[R], r R, query string) bool {
	var text strings.Builder
	for i := range columns {
		if columns[i].Searched {
			text.WriteString(columns[i].Text(r))
			text.WriteByte(' ')
		}
	}
	return find.Text(text.String(), query)
}

// Arrange returns the rows that match a query, all if it is empty, in an order.
// Commands call it. It reuses the memory of rows for its result.
func Arrange[R any](rows []R, columns []Column[R], o Order, query string) []R {
	if query != "" {
		rows = slices.DeleteFunc(rows, func(r R) bool { return !Matches(columns, r, query) })
	}
	Sort(rows, columns, o)
	return rows
}

// placed is a column with its place in a table.
type placed[R any] struct {
	*Column[R]
	x, w int
}

// place lays out the columns that fit into w cells. The last cell stays empty.
func place[R any](columns []Column[R], w int) []placed[R] {
	shown := make([]placed[R], 0, len(columns))
	end, next := 1, 1
	for i := range columns {
		col := &columns[i]
		if n := col.cells(w); n > 0 {
			shown = append(shown, placed[R]{col, next, n})
			end, next = next+n, next+n+max(col.Gap, 1)
		}
	}
	more := 0
	for i := range shown {
		col := &shown[i]
		col.x += more
		if col.Rest > 0 {
			more = min(max(w-1-end, 0), col.Rest-col.w)
			col.w += more
		}
	}
	return shown
}
