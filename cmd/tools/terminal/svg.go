package terminal

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// The measures of a drawn cell, in pixels, and the colours of the default
// foreground and background.
const (
	cellWidth, cellHeight = 8.4, 16.3
	fontSize              = 14
	margin                = 12.0
	defaultForeground     = "#d4d4d4"
	defaultBackground     = "#16181d"
)

// SVG draws the screen as a picture that any browser shows.
func (t *Terminal) SVG(w io.Writer) error {
	out := bufio.NewWriter(w)
	columns, rows := t.screen.Width(), t.screen.Height()
	begin(out, columns, rows)
	for y := range rows {
		drawRow(out, t.screen, y, margin+float64(y)*cellHeight)
	}
	fmt.Fprint(out, "</g>\n</svg>\n")
	return out.Flush()
}

// begin draws the background and begins the group of all text.
func begin(out io.Writer, columns, rows int) {
	width, height := pixels(columns, rows)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %[1]g %[2]g">`+"\n", width, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", defaultBackground)
	fmt.Fprintf(out, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d">`+"\n", fontSize)
}

func pixels(columns, rows int) (width, height float64) {
	return float64(columns)*cellWidth + 2*margin, float64(rows)*cellHeight + 2*margin
}

// drawRow draws a row of a screen, top pixels below the upper edge.
func drawRow(out io.Writer, screen *screen, y int, top float64) {
	for x := 0; x < screen.Width(); {
		x += drawRun(out, screen, x, y, top)
	}
}

// drawRun draws the cells from x on that look alike and returns how many.
func drawRun(out io.Writer, screen *screen, x, y int, top float64) int {
	first := screen.CellAt(x, y).Style
	var cells []string // an empty one belongs to a wide character before it
	for x+len(cells) < screen.Width() {
		cell := screen.CellAt(x+len(cells), y)
		if cell.Width > 0 && !cell.Style.Equal(&first) {
			break
		}
		cells = append(cells, cell.Content)
	}
	foreground, background := colour(first.Fg, defaultForeground), colour(first.Bg, defaultBackground)
	if first.Attrs&uv.AttrReverse != 0 {
		foreground, background = background, foreground
	}
	left := margin + float64(x)*cellWidth
	length := float64(len(cells)) * cellWidth
	if background != defaultBackground {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, length, cellHeight, background)
	}
	attributes := fmt.Sprintf(`y="%.1f" fill="%s"`, top+fontSize-1, foreground)
	if first.Attrs&uv.AttrBold != 0 {
		attributes += ` font-weight="bold"`
	}
	drawText(out, cells, left, attributes)
	return len(cells)
}

// drawText draws the words of a run, each group of them where it stands: browsers
// differ in what they make of several blanks in a row.
func drawText(out io.Writer, text []string, left float64, attributes string) {
	for at := 0; at < len(text); {
		if text[at] == " " {
			at++
			continue
		}
		end := at + 1
		for end < len(text) && (text[end] != " " || end+1 < len(text) && text[end+1] != " ") {
			end++
		}
		fmt.Fprintf(out, `<text x="%.1f" textLength="%.1f" %s>`, left+float64(at)*cellWidth, float64(end-at)*cellWidth, attributes)
		_ = xml.EscapeText(out, []byte(strings.Join(text[at:end], ""))) // a bufio.Writer keeps its error for Flush
		fmt.Fprint(out, "</text>\n")
		at = end
	}
}

// colour returns a colour as CSS. The first sixteen are a terminal's own.
func colour(c color.Color, otherwise string) string {
	switch c := c.(type) {
	case nil:
		return otherwise
	case ansi.BasicColor:
		return ansiColours[c]
	case ansi.IndexedColor:
		if int(c) < len(ansiColours) {
			return ansiColours[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

var ansiColours = [16]string{
	"#1e2127", "#e06c75", "#98c379", "#d19a66", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
	"#5c6370", "#e88388", "#b5d99c", "#e5c07b", "#8cc8f7", "#d898e8", "#7fd1dc", "#ffffff",
}
