package screen

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// Role is the meaning of a colour. Pages name roles, never colours.
type Role uint8

// The roles. Band0 and the eleven after it are the colours of chart bands;
// categories use them in the order of trace.Categories.
const (
	Default   Role = iota
	Muted          // present, but not the main content
	Accent         // titles and the cursor
	Good           // memory that can be used
	Warning        // memory that is lost or looks wrong
	Alarm          // out of memory
	OnBand         // text on top of a band
	Held           // memory from before recording began
	Pending        // freed, but another stream may still use it
	Rest           // everything too small for its own band
	Selection      // background of the row under the cursor
	Band0
	bandCount = 12
	roleCount = Band0 + bandCount
)

// Band returns the role of chart band i; after the last it starts again with the
// first.
func Band(i int) Role { return Band0 + Role(((i%bandCount)+bandCount)%bandCount) }

// Series returns the role of the i-th of many things that have no order of
// their own. It leaves out the grey band, which would look like the rest.
func Series(i int) Role {
	const grey = 10
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

// The styles that pages use for text. Each differs from plain text by more than
// colour, or is beside a word or glyph with the same meaning.
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

// Theme says what the terminal can show. The model owns it and changes it when
// the terminal answers; the pages draw with it, on the same goroutine.
type Theme struct {
	Colour  bool
	Few     bool // fewer than 256 colours: several roles look the same
	ASCII   bool
	Light   bool             // dark text on a light background
	colours *palette         // never nil
	open    map[Style]string // the escape sequences of styles used so far
}

// NewTheme returns a theme. Without colour only bold, faint, reverse and
// underline are used; with ascii only characters from space to tilde.
func NewTheme(colour, ascii bool) *Theme {
	return &Theme{Colour: colour, ASCII: ascii, colours: &palettes[0], open: make(map[Style]string)}
}

// Use selects the palette of that name, one of [Palettes]. It ignores an unknown
// name.
func (t *Theme) Use(name string) {
	for i := range palettes {
		if palettes[i].name == name {
			t.colours = &palettes[i]
			t.SetLight(t.Light)
		}
	}
}

// SetLight says whether the terminal's background is light. It does not affect
// palettes made for one background.
func (t *Theme) SetLight(light bool) {
	t.Light = light && t.colours.ground != darkGround || t.colours.ground == lightGround
	clear(t.open)
}

// SetColour turns colour off, or on with few colours or all.
func (t *Theme) SetColour(colour, few bool) {
	t.Colour, t.Few = colour, few
	clear(t.open)
}

// begin returns the sequence that switches the terminal from no style to s, ""
// for none.
func (t *Theme) begin(s Style) string {
	text, ok := t.open[s]
	if !ok {
		text = t.sequence(s)
		t.open[s] = text
	}
	return text
}

func (t *Theme) colour(r Role) color.Color {
	if c := t.colours.light[r]; c != nil && t.Light {
		return c
	}
	return t.colours.dark[r]
}

// sequence makes the sequence for begin.
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

// Letters reports whether chart areas must differ by printed letters, because the
// terminal lacks reliable colours or block characters.
func (t *Theme) Letters() bool { return !t.Colour || t.Few || t.ASCII }
