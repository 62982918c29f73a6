package screen

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

func TestBytes(t *testing.T) {
	tests := map[string]struct {
		n    int64
		want string
	}{
		"nothing":                        {0, "0 B"},
		"below a KiB":                    {1023, "1023 B"},
		"a KiB":                          {1024, "1.0 KiB"},
		"rounds to one decimal":          {1536 << 20, "1.5 GiB"},
		"does not show 1024.0 of a unit": {1<<20 - 1, "1.0 MiB"},
		"negative":                       {-3 << 20, "-3.0 MiB"},
		"the largest":                    {1<<63 - 1, "8.0 EiB"},
		"the smallest":                   {-1 << 63, "-8.0 EiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Bytes(test.n); got != test.want {
				t.Errorf("Bytes(%d) = %q, want %q", test.n, got, test.want)
			}
		})
	}
}

func TestCountAndPercentAndMicros(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(1429247): "1,429,247", Count(-1234): "-1,234",
		Percent(1, 3): "33.3%", Percent(1, 0): "-", Percent(5, 5): "100.0%",
		Micros(999): "999 µs", Micros(1500): "1.5 ms", Micros(2_500_000): "2.500 s", Micros(1_200_000_000): "20.0 min",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTruncation(t *testing.T) {
	tests := map[string]struct {
		text        string
		w           int
		right, left string
	}{
		"fits":            {"model.py", 8, "model.py", "model.py"},
		"too long":        {"model.py:41", 8, "model.p…", "…l.py:41"},
		"wide characters": {"模型训练", 5, "模型…", "…训练"},
		"no room":         {"model.py", 0, "", ""},
		"room for a mark": {"model.py", 1, "…", "…"},
		"marks take none": {"e\u0301t\u0301e", 3, "e\u0301t\u0301e", "e\u0301t\u0301e"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Truncate(test.text, test.w); got != test.right {
				t.Errorf("Truncate = %q, want %q", got, test.right)
			}
			if got := TruncateLeft(test.text, test.w); got != test.left {
				t.Errorf("TruncateLeft = %q, want %q", got, test.left)
			}
		})
	}
}

func TestWrapKeepsLinesWithinTheWidth(t *testing.T) {
	text := "the quick brown fox and averyveryverylongword/that/has/no/spaces jump"
	for w := 5; w < 40; w++ {
		for _, line := range Wrap(text, w) {
			if Width(line) > w {
				t.Errorf("at width %d the line %q is too long", w, line)
			}
		}
		if got := strings.Join(strings.Fields(strings.Join(Wrap(text, w), "")), ""); got != strings.ReplaceAll(text, " ", "") {
			t.Errorf("at width %d the text became %q", w, got)
		}
	}
}

// TestWrapEnds wraps words of which no character fits, and one so long that
// measuring it anew for each line would take minutes.
func TestWrapEnds(t *testing.T) {
	for name, word := range map[string]string{
		"wide": "模型模型", "marks": "\u0301\u200d\u0301", "broken": "\xff\xfe\xe6", "tags": "a\U000e0041\U000e0042b", "long": strings.Repeat("模/", 1<<12),
	} {
		for _, w := range []int{-1, 0, 1, 2, 3, 60} {
			if got := strings.Join(Wrap(word, w), ""); got != word {
				t.Errorf("%s: at width %d %d bytes became %d", name, w, len(word), len(got))
			}
			for _, line := range Wrap(word, w) {
				if Width(line) > max(w, 2) {
					t.Fatalf("%s: at width %d a line has %d cells", name, w, Width(line))
				}
			}
		}
	}
}

func TestACanvasIsExactlyItsSize(t *testing.T) {
	for name, text := range map[string]string{
		"plain": "hello", "wide": "模型模型模型模型", "control": "a\x1b[31mb\x00c\td\x9b", "marks": "e\u0301\u200d\u202e!",
		"flags": "🇩🇪🇩🇪", "emoji": "👩‍🔬👍🏽", "broken": "\xff\xfe",
	} {
		for _, theme := range []*Theme{NewTheme(true, false), NewTheme(false, false), NewTheme(false, true)} {
			c := New(theme, 9, 3)
			for y := range 3 {
				c.Text(y, y, text, Style{Fg: Accent, Attr: Bold})
			}
			c.Highlight(2, 1, 20)
			lines := strings.Split(c.String(), "\n")
			if len(lines) != 3 {
				t.Fatalf("%s: %d lines", name, len(lines))
			}
			for _, line := range lines {
				if got := lipgloss.Width(line); got != 9 {
					t.Errorf("%s: a line of %d cells: %q", name, got, line)
				}
				if rest := ansi.Strip(line); strings.ContainsAny(rest, "\x1b\x00\u009b\u202e") {
					t.Errorf("%s: control characters in %q", name, rest)
				}
			}
		}
	}
}

func TestDrawingOutsideOfAPartIsDropped(t *testing.T) {
	c := New(NewTheme(false, false), 10, 4)
	part := c.Sub(Rect{X: 2, Y: 1, W: 3, H: 2})
	for y := -2; y < 6; y++ {
		part.Text(-1, y, "xxxxxxxxxxxxxxxx", Plain)
		part.Bar(0, y, 30, 1, Plain)
	}
	part.Highlight(-5, 0, 50)
	part.Rule(9, "title", "right", true)
	for y, line := range strings.Split(ansi.Strip(c.String()), "\n") {
		outside := line
		if y == 1 || y == 2 {
			r := []rune(line)
			outside = string(r[:2]) + string(r[5:])
		}
		if strings.Trim(outside, " ") != "" {
			t.Errorf("row %d outside of the part: %q", y, outside)
		}
	}
}

func TestPasteClips(t *testing.T) {
	theme := NewTheme(false, false)
	for y := -4; y < 5; y++ {
		c, part := New(theme, 6, 3), New(theme, 9, 2)
		part.Text(0, 0, "first row", Plain)
		part.Text(0, 1, "second row", Plain)
		c.Paste(1, y, part)
		if got := lipgloss.Width(strings.Split(c.String(), "\n")[0]); got != 6 {
			t.Errorf("pasted at row %d the line has %d cells", y, got)
		}
	}
}

func TestEveryCharacterOfOursHasAPlainOne(t *testing.T) {
	for r, plain := range asciiFor {
		if plain < ' ' || plain > '~' {
			t.Errorf("%q stands for %q", plain, r)
		}
		if _, w := printable(r); w != 1 {
			t.Errorf("%q is %d cells wide", r, w)
		}
	}
}

func TestRectsSplitWithoutLosingCells(t *testing.T) {
	r := Rect{X: 3, Y: 2, W: 20, H: 10}
	for n := -2; n < 25; n++ {
		top, below := r.Top(n)
		left, beside := r.Left(n)
		if top.H+below.H != r.H || below.Y != top.Y+top.H {
			t.Errorf("Top(%d) = %v, %v", n, top, below)
		}
		if left.W+beside.W != r.W || beside.X != left.X+left.W {
			t.Errorf("Left(%d) = %v, %v", n, left, beside)
		}
		above, bottom := r.Bottom(n)
		if above.H+bottom.H != r.H || bottom.H != min(max(n, 0), r.H) {
			t.Errorf("Bottom(%d) = %v, %v", n, above, bottom)
		}
	}
}
