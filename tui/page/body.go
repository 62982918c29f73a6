package page

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/screen"
)

// Rows is a list that takes the keys and the mouse: a [Table] of any row type.
type Rows interface {
	Press(msg tea.KeyPressMsg) (cmd tea.Cmd, mine bool)
	Wheel(msg tea.MouseWheelMsg)
	Click(msg tea.MouseClickMsg) tea.Cmd
	Back() bool
}

// Body is embedded by every page. It has the scene, the keys, the rows, the
// detail of the selected row, and the answers to the mouse, to keys and to the
// model that all pages share. A page fills it in once, and writes a method of its
// own for whatever it does differently.
type Body struct {
	Prompts
	Scene *Scene // nil on the page of ranks, which shows a job
	Title string // of the page's keys in help
	Keys  Keys
	Hint  []string // keys for the bottom line, see [Keys.Hints]

	Terms   []keys.Term // words and signs, below the keys in help
	Signs   []keys.Term // likewise, in a separate group
	Letters bool        // the group begins with the letters of categories

	Rows   func() Rows // the list that takes keys and the mouse; nil on a page with only Detail
	Detail Reader      // of the selected row
	Aside  screen.Rect // where the wheel scrolls the detail
	Alone  bool        // the rows fill the page
	Frames bool        // the detail shows all frames of a stack
	// CellPace is how much time each cell adds to [Page].Pace.
	CellPace time.Duration

	// First answers a key, after the page's own keys and before the shared ones.
	First    func(msg tea.KeyPressMsg) (cmd tea.Cmd, mine bool)
	Copy     func() tea.Cmd
	Expand   func() tea.Cmd      // nil toggles Frames
	Sideways func(direction int) // nil scrolls the detail
}

// NewBody returns the body of a page of a scene, with the rows of a table and a
// detail, and without a zoom.
func NewBody(s *Scene, title string) Body {
	b := Body{Scene: s, Title: title, Keys: Keys{Motion: keys.NewMotion(), Pane: keys.NewPane()}}
	if s != nil && s.Live() != nil {
		b.Keys.Motion.NowAtEnd()
	}
	b.Keys.Motion.Sideways("scroll the detail up", "scroll the detail down")
	keys.Disable(&b.Keys.Pane.ZoomIn, &b.Keys.Pane.ZoomOut, &b.Keys.Pane.Other)
	return b
}

// Update handles keys and the mouse.
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

// Maximise shows only the rows, or the detail again too.
func (b *Body) Maximise() { b.Alone = !b.Alone }

// Pace limits how often a page is redrawn, so that a page that changes everywhere
// stays readable and sends few bytes.
func (b *Body) Pace(w, h int) time.Duration { return time.Duration(w*h) * b.CellPace }

// Lacks is the answer of a page that can show every file.
func (b *Body) Lacks() string { return "" }

// Rebase is the answer of a page that keeps no event numbers.
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

// Short returns the keys for the bottom line.
func (b *Body) Short() []key.Binding { return b.Keys.Hints(b.Hint...) }

// PlaceDetail sets where the detail lies on the page, with its heading, and its
// lines.
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
