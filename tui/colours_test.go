package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/tui/screen"
)

// styleOf returns what switched the style of the terminal before the first place of a text on
// a screen: "" for plain text.
func styleOf(t *testing.T, shown, text string) string {
	t.Helper()
	at := strings.Index(plain(shown), text)
	if at < 0 {
		t.Fatalf("the screen lacks %q:\n%s", text, plain(shown))
	}
	var styles []string // of each byte of plain(shown)
	style := ""
	for len(styles) <= at {
		if strings.HasPrefix(shown, "\x1b[") {
			end := strings.IndexByte(shown, 'm') + 1
			if style = shown[:end]; style == "\x1b[m" {
				style = ""
			}
			shown = shown[end:]
			continue
		}
		styles, shown = append(styles, style), shown[1:]
	}
	return styles[at]
}

// TestColoursHaveRoles looks at what each role is for: the stored screens are
// monochrome but for one of each page.
func TestColoursHaveRoles(t *testing.T) {
	colour := Options{Color: "always"}
	snapshot := func(t *testing.T) *driver {
		t.Helper()
		return start(t, 120, 40, colour, fileOf("run.pickle", tuitest.Small()))
	}
	compared := func(t *testing.T) *driver {
		t.Helper()
		return start(t, 120, 40, colour, twoRuns(t)...)
	}
	recorded := func(t *testing.T) *driver {
		t.Helper()
		return startRecording(t, 120, 40, colour)
	}
	checkpointed := func(t *testing.T) *driver {
		t.Helper()
		d, p := startLiveWith(t, 120, 40, 20, colour)
		d.press("C", "y")
		d.train(p, 3)
		return d
	}
	selected := func(s screen.Style) screen.Style {
		return screen.Style{Fg: s.Fg, Bg: screen.Selection, Attr: s.Attr | screen.Bold}
	}
	accent := screen.Style{Fg: screen.Accent}
	found := screen.Style{Fg: screen.Accent, Attr: screen.Bold | screen.Underline}
	tests := map[string]struct {
		start func(*testing.T) *driver
		keys  []string
		text  string
		want  screen.Style
	}{
		"what grew, compared":         {compared, []string{"6", "v"}, "+512 B", screen.Warn},
		"what shrank, compared":       {compared, []string{"6", "v", "down"}, "-3.0 KiB", screen.Fine},
		"a box that shrank":           {compared, []string{"6", "v", "t"}, "- model.py", screen.Style{Fg: screen.OnBand, Bg: screen.Good}},
		"out of memory, selected":     {snapshot, []string{"7"}, "oom ", selected(screen.Bad)},
		"out of memory":               {snapshot, []string{"7", "k"}, "oom ", screen.Bad},
		"a segment's event":           {snapshot, []string{"7", "^"}, "segment_alloc", accent},
		"a free":                      {snapshot, []string{"7", "^"}, "free_completed", screen.Dim},
		"a frame that folds":          {snapshot, []string{"6"}, "▾", selected(accent)},
		"a frame that the search hit": {snapshot, []string{"6", "/", "l", "o", "g", "_", "enter", "g"}, "log_loss", found},
		"a leak":                      {recorded, []string{"3", "G"}, "⚠ suspected", screen.Bad},
		"a refused change":            {recorded, []string{"8", "G"}, "✗ refused", screen.Bad},
		"why it was refused":          {recorded, []string{"8", "G"}, "the state of adamw", screen.Dim},
		"a recomputed layer":          {checkpointed, []string{"2"}, "ckpt    3.2 ms", screen.Style{Fg: screen.Good}},
		"what shows what is now":      {checkpointed, []string{"2"}, "live", screen.Title},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := test.start(t)
			d.press(test.keys...)
			c := screen.New(d.m.theme, 1, 1)
			c.Set(0, 0, 'x', test.want)
			want, _, _ := strings.Cut(c.String(), "x")
			if got := styleOf(t, d.screen(), test.text); got != want {
				t.Errorf("%q is drawn in %q, want %q", test.text, got, want)
			}
		})
	}
}

// TestFewColoursHaveLetters looks at a terminal with sixteen colours, in which several
// categories share one.
func TestFewColoursHaveLetters(t *testing.T) {
	for name, test := range map[string]struct {
		profile colorprofile.Profile
		letters bool
	}{
		"true colour":     {colorprofile.TrueColor, false},
		"256 colours":     {colorprofile.ANSI256, false},
		"sixteen colours": {colorprofile.ANSI, true},
		"none":            {colorprofile.ASCII, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, 120, 40, Options{}, fileOf("run.pickle", tuitest.Small()))
			d.send(tea.ColorProfileMsg{Profile: test.profile})
			for page, text := range map[string]string{"4": "AAAA", "5": "AAAA"} {
				d.press(page)
				if got := strings.Contains(plain(d.screen()), text); got != test.letters {
					t.Errorf("page %s has letters: %v, want %v\n%s", page, got, test.letters, plain(d.screen()))
				}
			}
		})
	}
}
