package page

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/tui/screen"
)

// larder is a page with a table and a detail of ten lines, of which three show.
type larder struct {
	Body
	table Table[fruit, string]
	did   []string
}

func newLarder() *larder {
	l := &larder{Body: NewBody(nil, "Larder")}
	l.table = Table[fruit, string]{Columns: fruitColumns(), Body: &l.Body, Key: func(f fruit) string { return f.name }}
	l.Rows = func() Rows { return &l.table }
	do := func(what string) func() tea.Cmd { return Act(func() { l.did = append(l.did, what) }) }
	l.Copy = do("copy")
	l.First = func(msg tea.KeyPressMsg) (tea.Cmd, bool) { return nil, msg.String() == "!" && do("first")() == nil }
	l.Keys.Bind(NewKey("m", "eat", do("eat"), "M"), NewKey("j", "juice", do("juice")))
	l.table.Place(screen.Rect{Y: 1, W: 20, H: 5})
	l.table.Show(fruits, Order{})
	l.PlaceDetail(screen.Rect{Y: 6, W: 20, H: 4}, make([]Line, 10))
	return l
}

// TestABodyAnswers has each message that pages answer alike, and what became of it.
func TestABodyAnswers(t *testing.T) {
	press := func(name string) tea.Msg {
		if name == "right" {
			return tea.KeyPressMsg{Code: tea.KeyRight}
		}
		return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
	}
	wheel := func(y int) tea.Msg { return tea.MouseWheelMsg{Y: y, Button: tea.MouseWheelDown} }
	type state struct {
		Did    string
		Row    int
		Offset int
		Frames bool
	}
	tests := map[string]struct {
		messages []tea.Msg
		want     state
	}{
		"a key of the page alone":                     {[]tea.Msg{press("m")}, state{Did: "eat"}},
		"and one that stands for it":                  {[]tea.Msg{press("M")}, state{Did: "eat"}},
		"before one that pages share":                 {[]tea.Msg{press("j")}, state{Did: "juice"}},
		"what the page answers first":                 {[]tea.Msg{press("!")}, state{Did: "first"}},
		"a copy":                                      {[]tea.Msg{press("y")}, state{Did: "copy"}},
		"all frames, and not":                         {[]tea.Msg{press("e")}, state{Frames: true}},
		"sideways scrolls the detail":                 {[]tea.Msg{press("right")}, state{Offset: 1}},
		"the end of the rows":                         {[]tea.Msg{press("G")}, state{Row: 3}},
		"another row has a detail from its beginning": {[]tea.Msg{press("right"), press("G")}, state{Row: 3}},
		"the wheel over the detail":                   {[]tea.Msg{wheel(7)}, state{Offset: 3}},
		"the wheel elsewhere":                         {[]tea.Msg{wheel(2)}, state{Row: 3}},
		"a click":                                     {[]tea.Msg{tea.MouseClickMsg{X: 3, Y: 4, Button: tea.MouseLeft}}, state{Row: 2}},
		"a key that nothing has":                      {[]tea.Msg{press("X")}, state{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLarder()
			for _, msg := range test.messages {
				l.Update(msg)
			}
			got := state{strings.Join(l.did, " "), l.table.Cursor, l.Detail.Offset, l.Frames}
			equal.Values(t, "the result", test.want, got)
		})
	}
}

func TestHintsAreOfKeysThatThePageHas(t *testing.T) {
	l := newLarder()
	var said []string
	for _, b := range l.Keys.Hints("m taste", "\\ sieve", "down next") {
		said = append(said, b.Help().Key+" "+b.Help().Desc)
	}
	equal.Values(t, "hints", []string{"m taste", "\\ sieve", "↓ j next"}, said)
	defer func() {
		if recover() == nil {
			t.Error("a hint for a key that the page does not have is taken")
		}
	}()
	l.Keys.Hints("# nothing")
}
