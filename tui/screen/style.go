package screen

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// Role is what a colour means. Pages name roles, never colours.
type Role uint8

// The roles. Band0 and the eleven after it are the colours of chart bands;
// categories use them in the order of trace.Categories.
const (
	Default   Role = iota
	Muted          // present, but not what the reader came for
	Accent         // titles and the cursor
	Good           // memory that can be used
	Warning        // memory that is lost or looks wrong
	Alarm          // out of memory
	OnBand         // text on top of a band
	Held           // memory from before recording began
	Pending        // freed, but another stream may still use it
	Rest           // what was too small for a band of its own
	Selection      // background of the row under the cursor
	Band0
	bandCount = 12
	roleCount = Band0 + bandCount
)

// Band returns the role of chart band i; after the last the first comes again.
func Band(i int) Role { return Band0 + Role(((i%bandCount)+bandCount)%bandCount) }

// Series returns the role of the i-th of many things that have no order of
// their own. It leaves out the grey band, which would look like the rest.
func Series(i int) Role {
	const grey = 9
	if i %= bandCount - 1; i >= grey {
		i++
	}
	return Band(i)
}

// Attr is a set of text attributes, which monochrome terminals have too.
type Attr uint8

// The attributes.
const (
	Bold Attr = 1 << iota
	Faint
	Reverse
	Underline
)

// Style is how a cell looks.
type Style struct {
	Fg, Bg Role
	Attr   Attr
}

// The styles that pages use for text. Each differs from plain text by more
// than colour, or stands beside a word or glyph that says the same.
var (
	Plain    = Style{}
	Dim      = Style{Fg: Muted}
	Strong   = Style{Attr: Bold}
	Title    = Style{Fg: Accent, Attr: Bold}
	Selected = Style{Attr: Reverse}
	Warn     = Style{Fg: Warning, Attr: Bold}
	Bad      = Style{Fg: Alarm, Attr: Bold}
	Fine     = Style{Fg: Good}
)

// palette is the one place where colours are. The bands are far apart in hue
// for people who see red and green alike, and of one brightness so that dark
// text is readable on each.
var palette = [roleCount]color.Color{
	Muted:      lipgloss.Color("#8a8f98"),
	Accent:     lipgloss.Color("#5fafd7"),
	Good:       lipgloss.Color("#6fbf73"),
	Warning:    lipgloss.Color("#e0a030"),
	Alarm:      lipgloss.Color("#f0524f"),
	OnBand:     lipgloss.Color("#16181c"),
	Held:       lipgloss.Color("#6b7280"),
	Pending:    lipgloss.Color("#d98e8b"),
	Rest:       lipgloss.Color("#9aa0a6"),
	Selection:  lipgloss.Color("#2f4a68"),
	Band0:      lipgloss.Color("#5b8fd0"),
	Band0 + 1:  lipgloss.Color("#f2a14a"),
	Band0 + 2:  lipgloss.Color("#b583c9"),
	Band0 + 3:  lipgloss.Color("#63b8a5"),
	Band0 + 4:  lipgloss.Color("#f3a6b5"),
	Band0 + 5:  lipgloss.Color("#e7cf58"),
	Band0 + 6:  lipgloss.Color("#a98467"),
	Band0 + 7:  lipgloss.Color("#e2736f"),
	Band0 + 8:  lipgloss.Color("#8cc265"),
	Band0 + 9:  lipgloss.Color("#a9b0ba"),
	Band0 + 10: lipgloss.Color("#6fc7de"),
	Band0 + 11: lipgloss.Color("#c5c15a"),
}

// onLight replaces what could not be read on a light background.
var onLight = map[Role]color.Color{
	Muted:     lipgloss.Color("#6b7078"),
	Accent:    lipgloss.Color("#1f6fa8"),
	Good:      lipgloss.Color("#2e7d32"),
	Warning:   lipgloss.Color("#a86400"),
	Alarm:     lipgloss.Color("#c62828"),
	Selection: lipgloss.Color("#cfe3f7"),
}

// Theme says what the terminal can show. The model owns it and changes it when
// the terminal answers; the pages draw with it, on the same goroutine.
type Theme struct {
	Colour bool
	Few    bool // fewer than 256 colours: several roles look the same
	ASCII  bool
	Light  bool             // dark text on a light background
	open   map[Style]string // what begins the styles that were drawn so far
}

// NewTheme returns a theme. Without colour only bold, faint, reverse and
// underline are used; with ascii only characters from space to tilde.
func NewTheme(colour, ascii bool) *Theme {
	return &Theme{Colour: colour, ASCII: ascii, open: make(map[Style]string)}
}

// SetLight says that the terminal's background is light, or is not.
func (t *Theme) SetLight(light bool) {
	t.Light = light
	clear(t.open)
}

// SetColour gives up colour, or takes it up, with few colours or all.
func (t *Theme) SetColour(colour, few bool) {
	t.Colour, t.Few = colour, few
	clear(t.open)
}

// begin returns what switches the terminal from no style to s, "" when that is
// nothing.
func (t *Theme) begin(s Style) string {
	text, ok := t.open[s]
	if !ok {
		text = t.sequence(s)
		t.open[s] = text
	}
	return text
}

func (t *Theme) colour(r Role) color.Color {
	if c, ok := onLight[r]; ok && t.Light {
		return c
	}
	return palette[r]
}

// sequence makes what begin returns.
func (t *Theme) sequence(s Style) string {
	style := lipgloss.NewStyle().Bold(s.Attr&Bold != 0).Faint(s.Attr&Faint != 0).
		Reverse(s.Attr&Reverse != 0).Underline(s.Attr&Underline != 0)
	switch {
	case t.Colour:
		if c := t.colour(s.Fg); c != nil {
			style = style.Foreground(c)
		}
		if c := t.colour(s.Bg); c != nil {
			style = style.Background(c)
		}
	case s.Bg != Default:
		style = style.Reverse(true)
	case s.Fg == Muted:
		style = style.Faint(true)
	}
	before, _, _ := strings.Cut(style.Render("x"), "x")
	return before
}

// Letters reports whether chart areas must differ by what is printed in
// them, because colour or block characters cannot be relied on.
func (t *Theme) Letters() bool { return !t.Colour || t.Few || t.ASCII }
