package page

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/screen"
)

// List is the cursor and the scroll position of rows that its owner draws. It
// only knows how many rows there are and how many fit, so it costs the same for
// ten rows and for ten million.
type List struct {
	Cursor int
	Offset int
	Count  int
	Height int
}

// Resize sets how many rows there are and how many fit, and keeps the cursor in
// view. Without rows the cursor stays where it is: the rows may not be known yet.
func (l *List) Resize(count, height int) {
	l.Count, l.Height = count, max(height, 1)
	l.clamp()
}

// To moves the cursor to a row.
func (l *List) To(row int) {
	if l.Count == 0 {
		return
	}
	l.Cursor = row
	l.clamp()
}

// Center moves the cursor to a row and scrolls it to the middle if it is not
// in view.
func (l *List) Center(row int) {
	if l.Count > 0 && (row < l.Offset || row >= l.Offset+l.Height) {
		l.Offset = row - l.Height/2
	}
	l.To(row)
}

func (l *List) clamp() {
	if l.Count == 0 {
		return
	}
	l.Cursor = min(max(l.Cursor, 0), max(l.Count-1, 0))
	if l.Cursor < l.Offset {
		l.Offset = l.Cursor
	}
	if l.Cursor >= l.Offset+l.Height {
		l.Offset = l.Cursor - l.Height + 1
	}
	l.Offset = min(max(l.Offset, 0), max(l.Count-l.Height, 0))
}

// Key moves the cursor and reports whether msg was a key for that.
func (l *List) Key(msg tea.KeyPressMsg, m keys.Motion) bool {
	switch {
	case key.Matches(msg, m.Up):
		l.To(l.Cursor - 1)
	case key.Matches(msg, m.Down):
		l.To(l.Cursor + 1)
	case key.Matches(msg, m.PageUp):
		l.page(-1)
	case key.Matches(msg, m.PageDown):
		l.page(1)
	case key.Matches(msg, m.Top):
		l.To(0)
	case key.Matches(msg, m.Bottom):
		l.To(l.Count - 1)
	default:
		return false
	}
	return true
}

func (l *List) page(direction int) {
	step := direction * max(l.Height-1, 1)
	if l.Count > 0 {
		l.Offset += step
	}
	l.To(l.Cursor + step)
}

// Wheel scrolls by the mouse wheel. The cursor moves along.
func (l *List) Wheel(msg tea.MouseWheelMsg) {
	switch msg.Button {
	case tea.MouseWheelUp:
		l.To(l.Cursor - 3)
	case tea.MouseWheelDown:
		l.To(l.Cursor + 3)
	default: // sideways
	}
}

// Click moves the cursor to the row that is y rows below the first visible one
// and reports whether there is such a row.
func (l *List) Click(y int) bool {
	row := l.Offset + y
	if y < 0 || y >= l.Height || row >= l.Count {
		return false
	}
	l.To(row)
	return true
}

// Visible returns the rows to draw, [from, to).
func (l *List) Visible() (from, to int) {
	return min(l.Offset, l.Count), min(l.Offset+l.Height, l.Count)
}

// Scrollbar draws the position of the visible rows among all rows, in column x
// from row y.
func (l *List) Scrollbar(c screen.Canvas, x, y int) {
	if l.Count <= l.Height || l.Height < 3 {
		return
	}
	size := max(l.Height*l.Height/l.Count, 1)
	top := l.Offset * (l.Height - size) / max(l.Count-l.Height, 1)
	for i := range l.Height {
		if i >= top && i < top+size {
			c.Set(x, y+i, '█', screen.Dim)
		} else {
			c.Set(x, y+i, '│', screen.Dim)
		}
	}
}
