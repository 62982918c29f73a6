package page

import (
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/screen"
)

type fruit struct {
	name  string
	bytes int64
}

var fruits = []fruit{{"pear", 3}, {"apple", 1}, {"plum", 2}, {"peach", 2}}

// fruitColumns have every kind: of all widths, of wide tables only, one that is
// never shown and sorts, and one that is never shown and searched.
func fruitColumns() []Column[fruit] {
	return []Column[fruit]{
		{Head: "name", Rest: 12, Left: true, Searched: true, Text: func(f fruit) string { return f.name }, Compare: func(a, b fruit) int { return strings.Compare(a.name, b.name) }},
		{Head: "bytes", Width: Cells(6), Text: func(f fruit) string { return strconv.FormatInt(f.bytes, 10) }, Value: func(f fruit) int64 { return f.bytes }},
		{Head: "share", Width: From(30, 6), Under: true, Text: func(f fruit) string { return strconv.FormatInt(f.bytes*10, 10) + "%" }},
		{Head: "length", Value: func(f fruit) int64 { return int64(len(f.name)) }},
		{Searched: true, Text: func(fruit) string { return "fruit" }},
	}
}

// basket is a table of fruits as a page has it.
type basket struct {
	Table[fruit, string]
	Body
	opened []string
}

func newBasket(w, h int) *basket {
	b := &basket{Body: Body{Keys: Keys{Motion: keys.NewMotion(), Pane: keys.NewPane()}}}
	b.Table = Table[fruit, string]{
		Columns: fruitColumns(), Noun: "fruit", Body: &b.Body,
		Key: func(f fruit) string { return f.name }, Arranged: b.show,
		Open: func() tea.Cmd {
			f, _ := b.Current()
			b.opened = append(b.opened, f.name)
			return nil
		},
	}
	b.show()
	b.Place(screen.Rect{X: 2, Y: 3, W: w, H: h})
	return b
}

func (b *basket) show() {
	b.Show(Arrange(append([]fruit(nil), fruits...), b.Columns, b.Order, b.Filter), b.Order)
}

// press types keys and returns what is said then.
func (b *basket) press(names ...string) string {
	said := ""
	for _, name := range names {
		msg := tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
		switch name {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "end":
			msg = tea.KeyPressMsg{Code: tea.KeyEnd}
		}
		var cmd tea.Cmd
		if p := b.Prompting(); p != nil {
			var done bool
			if cmd, done = p.Key(msg); done {
				b.EndPrompt()
			}
		} else {
			cmd, _ = b.Press(msg)
		}
		if cmd != nil {
			said = cmd().(Note).Text
		}
	}
	return said
}

func (b *basket) names() string {
	var names []string
	for i := range b.Count {
		names = append(names, b.At(i).name)
	}
	return strings.Join(names, " ")
}

func (b *basket) current() string {
	f, _ := b.Current()
	return f.name
}

func (b *basket) draw(w, h int) string {
	c := screen.New(screen.NewTheme(false, false), w, h)
	b.Draw(c)
	if b.Count == 0 {
		b.Empty(c, "no fruits")
	}
	return ansi.Strip(c.String())
}

func TestKeysOfATable(t *testing.T) {
	tests := map[string]struct {
		keys    []string
		rows    string // "" for all as they come
		current string
		says    string
	}{
		"rows come as they are given":              {nil, "", "pear", ""},
		"down moves":                               {[]string{"j", "j"}, "", "plum", ""},
		"sorted by the next column":                {[]string{">"}, "pear plum peach apple", "pear", ""},
		"inverted, equal rows as they come":        {[]string{">", "I"}, "apple plum peach pear", "pear", ""},
		"another column begins with its own order": {[]string{">", "I", ">"}, "apple peach pear plum", "pear", ""},
		"by a column that is never shown":          {[]string{"<"}, "apple peach pear plum", "pear", ""},
		"sorting keeps the row":                    {[]string{"j", ">"}, "pear plum peach apple", "apple", ""},
		"a filter leaves what matches":             {[]string{"\\", "p", "e", "enter"}, "pear peach", "pear", ""},
		"a filter of every word":                   {[]string{"\\", "f", "r", "u", "i", "t", " ", "u", "enter"}, "pear apple plum peach", "pear", ""},
		"a search goes on":                         {[]string{"/", "p", "e", "enter"}, "", "peach", ""},
		"and around the end":                       {[]string{"/", "p", "e", "enter", "n"}, "", "pear", ""},
		"and back around the start":                {[]string{"/", "p", "l", "enter", "N"}, "", "plum", ""},
		"and to itself where nothing else matches": {[]string{"/", "p", "l", "u", "enter", "n"}, "", "plum", ""},
		"what is not there is said":                {[]string{"/", "k", "enter"}, "", "pear", "no fruit matches k"},
		"nothing was searched for":                 {[]string{"n"}, "", "pear", "no search yet: press / to search"},
		"a number column is not searched":          {[]string{"/", "3", "enter"}, "", "pear", "no fruit matches 3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBasket(20, 6)
			says := b.press(test.keys...)
			if test.rows == "" {
				test.rows = "pear apple plum peach"
			}
			if b.names() != test.rows || b.current() != test.current || says != test.says {
				t.Errorf("rows %q with %q selected, says %q; want %q, %q, %q", b.names(), b.current(), says, test.rows, test.current, test.says)
			}
		})
	}
}

func TestEscUndoesWhatWasArranged(t *testing.T) {
	b := newBasket(20, 6)
	b.Start(Order{By: "bytes"})
	b.show()
	b.press("<", "/", "e", "enter", "\\", "p", "e", "enter")
	for _, want := range []struct{ rows, search string }{{"apple peach pear plum", "e"}, {"pear plum peach apple", "e"}, {"pear plum peach apple", ""}} {
		if !b.Table.Back() || b.names() != want.rows || b.Search != want.search {
			t.Errorf("went back to %q, searching %q; want %q, %q", b.names(), b.Search, want.rows, want.search)
		}
	}
	if b.Table.Back() {
		t.Error("there was more to undo")
	}
}

func TestTheMouseInATable(t *testing.T) {
	b := newBasket(40, 6)
	click := func(x, y int) {
		b.Click(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	}
	click(5, 5)
	if b.current() != "apple" || b.opened != nil {
		t.Errorf("a click selected %q and opened %q", b.current(), b.opened)
	}
	click(5, 5)
	equal.Values(t, "a click on the selected row opened", []string{"apple"}, b.opened)
	for _, test := range []struct {
		x    int
		want Order
	}{
		{18, Order{By: "bytes"}},
		{25, Order{"bytes", true}}, // a share belongs to the bytes
		{3, Order{By: "name"}},
	} {
		if click(test.x, 3); b.Order != test.want {
			t.Errorf("a click on the head at %d sorts by %v, want %v", test.x, b.Order, test.want)
		}
	}
	click(5, 20)
	click(1, 5)
	b.Unfocused = true
	click(5, 4)
	click(5, 4)
	if len(b.opened) != 1 {
		t.Errorf("clicks beside the table, or without the keys, opened %q", b.opened)
	}
	b.Wheel(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if b.current() != b.At(3).name {
		t.Errorf("the wheel went to %q", b.current())
	}
}

func TestTheSelectedRowStaysSelected(t *testing.T) {
	b := newBasket(20, 6)
	b.press("j", "j")
	b.Show([]fruit{{"fig", 9}, {"plum", 2}, {"kiwi", 1}}, Order{})
	if b.current() != "plum" {
		t.Errorf("%q is selected, want the plum", b.current())
	}
	b.Show([]fruit{{"fig", 9}, {"kiwi", 1}}, Order{})
	if b.current() != "kiwi" {
		t.Errorf("%q is selected in the plum's place", b.current())
	}
	b.Forget()
	if _, ok := b.Current(); ok {
		t.Error("a row is selected of none")
	}
	b.Show([]fruit{{"kiwi", 1}, {"fig", 9}}, Order{})
	if b.current() != "kiwi" {
		t.Errorf("%q is selected, want the kiwi", b.current())
	}
}

func TestATableIsDrawn(t *testing.T) {
	tests := map[string]struct {
		w, h int
		keys []string
		want []string
	}{
		"all columns": {32, 6, []string{">"}, []string{
			" name         bytes▼  share     ", " pear              3    30%     ", " plum              2    20%     ",
			" peach             2    20%     ", " apple             1    10%     ", "                                ",
		}},
		"too narrow for all":               {16, 3, nil, []string{" name    bytes  ", " pear        3  ", " apple       1  "}},
		"a name that is cut":               {13, 3, nil, []string{" name  bytes ", " pear      3 ", " app…      1 "}},
		"more rows than there is room for": {16, 4, []string{"end"}, []string{" name    bytes  ", " apple       1 │", " plum        2 █", " peach       2 █"}},
		"what a filter left of none": {28, 3, []string{"\\", "x", "enter"}, []string{
			" name          bytes        ", "no fruit matches the filter ", "                            ",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBasket(test.w, test.h)
			b.press(test.keys...)
			equal.Values(t, "drawn", test.want, strings.Split(b.draw(test.w, test.h), "\n"))
		})
	}
}
