package page

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/screen"
)

// Rows is a list that takes the keys and the mouse: a [Table] of any rows.
type Rows interface {
	Press(msg tea.KeyPressMsg) (cmd tea.Cmd, mine bool)
	Wheel(msg tea.MouseWheelMsg)
	Click(msg tea.MouseClickMsg) tea.Cmd
	Back() bool
}

// Body is what every page embeds: the scene, the keys, the rows, the detail of the
// selected row, and the answers to the mouse, to keys and to the model that pages have
// in common. A page fills it in once and writes what it does otherwise as a method of
// its own.
type Body struct {
	Prompts
	Scene *Scene // nil on the page of ranks, which is the job's
	Title string // of the page's keys in help
	Keys  Keys

	Terms   []keys.Term // words and signs, below the keys in help
	Signs   []keys.Term // the same in a group of their own
	Letters bool        // which begins with the letters of categories

	Rows   func() Rows // that have the keys and the mouse; nil where Detail is all there is
	Detail Reader      // of the selected row
	Aside  screen.Rect // where the wheel scrolls the detail
	Alone  bool        // the rows are maximised
	Frames bool        // the detail shows all frames of a stack
	// CellPace is how much time a cell adds to [Page].Pace.
	CellPace time.Duration

	// First answers a key after those of the page alone, before those that pages share.
	First    func(msg tea.KeyPressMsg) (cmd tea.Cmd, mine bool)
	Copy     func() tea.Cmd
	Expand   func() tea.Cmd      // nil turns Frames
	Sideways func(direction int) // nil scrolls the detail
}

// NewBody returns the body of a page of a scene, whose rows are those of a table that
// cannot be zoomed into, with a detail.
func NewBody(s *Scene, title string) Body {
	b := Body{Scene: s, Title: title, Keys: Keys{Motion: keys.NewMotion(), Pane: keys.NewPane()}}
	if s != nil && s.Live() != nil {
		b.Keys.Motion.NowAtEnd()
	}
	b.Keys.Motion.Sideways("scroll the detail up", "scroll the detail down")
	keys.Disable(&b.Keys.Pane.ZoomIn, &b.Keys.Pane.ZoomOut, &b.Keys.Pane.Other)
	return b
}

// Update takes keys and the mouse.
func (b *Body) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return b.press(msg)
	case tea.MouseWheelMsg:
		if b.Rows == nil || b.Aside.Contains(msg.X, msg.Y) {
			b.Detail.Wheel(msg)
		} else {
			b.Rows().Wheel(msg)
		}
	case tea.MouseClickMsg:
		if b.Rows != nil {
			return b.Rows().Click(msg)
		}
	}
	return nil
}

func (b *Body) press(msg tea.KeyPressMsg) tea.Cmd {
	k := &b.Keys
	if own := k.pressed(msg); own != nil {
		return own.Do()
	}
	if b.First != nil {
		if cmd, mine := b.First(msg); mine {
			return cmd
		}
	}
	switch {
	case key.Matches(msg, k.Pane.Copy):
		return b.Copy()
	case key.Matches(msg, k.Pane.Expand) && b.Expand != nil:
		return b.Expand()
	case key.Matches(msg, k.Pane.Expand):
		b.Frames = !b.Frames
	case b.Rows == nil:
		b.Detail.Key(msg, k.Motion)
	case b.Sideways != nil && key.Matches(msg, k.Motion.Left):
		b.Sideways(-1)
	case b.Sideways != nil && key.Matches(msg, k.Motion.Right):
		b.Sideways(1)
	case b.Sideways == nil && b.Detail.Sideways(msg, k.Motion):
	default:
		cmd, _ := b.Rows().Press(msg)
		return cmd
	}
	return nil
}

// Back clears the filter of the rows, then their order, then the search.
func (b *Body) Back() bool { return b.Rows != nil && b.Rows().Back() }

// Maximise shows the rows alone, or with the detail again.
func (b *Body) Maximise() { b.Alone = !b.Alone }

// Pace keeps a page that moves as a whole readable, and its bytes few.
func (b *Body) Pace(w, h int) time.Duration { return time.Duration(w*h) * b.CellPace }

// Lacks is for a page that has something of every file.
func (b *Body) Lacks() string { return "" }

// Rebase is for a page that keeps no numbers of events.
func (b *Body) Rebase(int) {}

// Help returns the page's keys, its own first.
func (b *Body) Help() []keys.Group {
	groups := []keys.Group{
		{Title: b.Title, Bindings: b.Keys.acting, Terms: b.Terms},
		{Title: "Moving", Bindings: b.Keys.moving},
	}
	signs := b.Signs
	if b.Letters {
		signs = append(CategoryTerms(b.Scene.Theme), signs...)
	}
	if len(signs) > 0 {
		groups = append(groups, keys.Group{Title: "Signs", Terms: signs})
	}
	return groups
}

// PlaceDetail says where on the page the detail lies, its heading included, and what
// it is.
func (b *Body) PlaceDetail(at screen.Rect, lines []Line) {
	b.Aside = at
	b.Detail.Resize(len(lines), at.H-1)
}

// DrawDetail draws the detail under a heading, beside the rows or below them.
func (b *Body) DrawDetail(c screen.Canvas, beside bool, lines func() []Line) {
	if c.Height() > 0 {
		c = Aside(c, beside)
		c.Rule(0, "Detail", "", false)
		b.Detail.Draw(c, 1, lines())
	}
}
