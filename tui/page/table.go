package page

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/screen"
)

// Table is a list of rows R with columns. It handles the keys and the mouse for
// moving, sorting, filtering, searching and opening, and draws itself. A page
// gives it columns and rows. K identifies a row, also among rows made later, so
// that the selected row stays selected.
type Table[R any, K comparable] struct {
	List
	Columns []Column[R]
	Noun    string // what to call a row
	Order   Order  // the order that the user wants
	Shown   Order  // the order of the rows now
	Filter  string
	Search  string
	// Unfocused says that the keys go to another pane.
	Unfocused bool
	// SearchHint and FilterHint say what the user can look for.
	SearchHint, FilterHint string

	Body *Body // the page's body, with the keys, the prompt and the detail

	At    func(i int) R                                // row i; Show sets it
	Key   func(r R) K                                  // nil when the cursor stays on its row number
	Style func(r R) screen.Style                       // for columns without a Style; nil is plain
	Whole func(c screen.Canvas, y int, r R) (all bool) // draws the parts outside of columns, or the whole row

	Open     func() tea.Cmd           // opens the selected row; nil if rows cannot be opened
	Moved    func()                   // called when the user chose a row
	Arranged func()                   // called when order, filter or search changed
	Seek     func(direction int) bool // goes to the next match; nil looks through the rows

	first    Order // the order that Esc restores
	rect     screen.Rect
	selected K
	chosen   bool // selected is the key of a row
}

// Start sets the order that Esc restores, and uses it unless the user chose
// another.
func (t *Table[R, K]) Start(o Order) {
	if t.Order == t.first {
		t.Order = o
	}
	t.first = o
}

// Place sets where the table lies on the page, with its heads.
func (t *Table[R, K]) Place(r screen.Rect) {
	t.rect = r
	t.Resize(t.Count, r.H-1)
}

// Show gives the table its rows, which are in the order o. The cursor stays on
// the selected row.
func (t *Table[R, K]) Show(rows []R, o Order) {
	t.At, t.Shown = func(i int) R { return rows[i] }, o
	t.Resize(len(rows), t.Height)
	if t.chosen {
		t.Select(t.selected)
	}
	t.choose()
}

// Select moves the cursor to a row and reports whether there is such a row.
func (t *Table[R, K]) Select(k K) bool {
	for i := range t.Count {
		if t.Key(t.At(i)) == k {
			t.Center(i)
			t.choose()
			return true
		}
	}
	return false
}

// Forget drops the rows. The table keeps the key of the selected row.
func (t *Table[R, K]) Forget() { t.At, t.Count = nil, 0 }

// Unselect forgets the selected row, because the next rows are different ones.
func (t *Table[R, K]) Unselect() { t.chosen = false }

// Current returns the row under the cursor and whether there is one.
func (t *Table[R, K]) Current() (r R, ok bool) {
	if t.Cursor < t.Count && t.At != nil {
		return t.At(t.Cursor), true
	}
	return r, false
}

// Next moves the cursor to the row below.
func (t *Table[R, K]) Next() {
	t.To(t.Cursor + 1)
	t.moved()
}

// choose remembers the row under the cursor.
func (t *Table[R, K]) choose() {
	if r, ok := t.Current(); ok && t.Key != nil {
		t.selected, t.chosen = t.Key(r), true
	}
}

func (t *Table[R, K]) moved() {
	t.choose()
	t.Body.Detail.Offset = 0
	call(t.Moved)
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// Press handles a key and reports whether it was one of the table's keys.
func (t *Table[R, K]) Press(msg tea.KeyPressMsg) (cmd tea.Cmd, mine bool) {
	k := &t.Body.Keys.Pane
	switch {
	case t.List.Key(msg, t.Body.Keys.Motion):
		t.moved()
	case key.Matches(msg, k.Open):
		return t.open(), true
	case key.Matches(msg, k.Search):
		t.Body.Ask("search", "", t.SearchHint, t.search)
	case key.Matches(msg, k.Filter):
		t.Body.Ask("filter", t.Filter, t.FilterHint+"; empty shows all", t.filter)
	case key.Matches(msg, k.Next):
		return t.next(1), true
	case key.Matches(msg, k.Previous):
		return t.next(-1), true
	case key.Matches(msg, k.SortLeft):
		t.turn(-1)
	case key.Matches(msg, k.SortRight):
		t.turn(1)
	case key.Matches(msg, k.Invert):
		t.sort(Order{t.Order.By, !t.Order.Inverse})
	default:
		return nil, false
	}
	return nil, true
}

func (t *Table[R, K]) open() tea.Cmd {
	if t.Open == nil {
		return nil
	}
	return t.Open()
}

// Wheel moves the cursor by the mouse wheel.
func (t *Table[R, K]) Wheel(msg tea.MouseWheelMsg) {
	t.List.Wheel(msg)
	t.moved()
}

// Click selects the row at a cell of the page, or opens it if it is selected. A
// click on a head sorts.
func (t *Table[R, K]) Click(msg tea.MouseClickMsg) tea.Cmd {
	if !t.rect.Contains(msg.X, msg.Y) {
		return nil
	}
	if msg.Y == t.rect.Y {
		t.clickHead(msg.X - t.rect.X)
		return nil
	}
	was := t.Cursor
	switch {
	case !t.List.Click(msg.Y - t.rect.Y - 1):
	case was == t.Cursor && !t.Unfocused:
		return t.open()
	default:
		t.moved()
	}
	return nil
}
