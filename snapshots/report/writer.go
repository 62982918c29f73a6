package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/snapshots/trace"
)

// page writes plain text in lines of limited width. Names come from files, so
// page removes everything that could control a terminal.
type page struct {
	w     *bufio.Writer
	width int
}

// narrowest is the width below which text is no longer cut, for lack of room.
const narrowest = 40

func newPage(w io.Writer, width int) *page {
	if width <= 0 {
		width = 80
	}
	return &page{w: bufio.NewWriter(w), width: max(width, narrowest)}
}

// line writes one line, cut to the width.
func (p *page) line(format string, args ...any) {
	text := strings.TrimRight(fit(trace.Printable(fmt.Sprintf(format, args...)), p.width), " ")
	fmt.Fprintln(p.w, text) // the writer keeps its first error for Flush
}

// wrap writes text in as many lines as it needs. The first line begins with a
// mark, and the others are indented by its width.
func (p *page) wrap(mark, text string) {
	indent := strings.Repeat(" ", cells(mark))
	line := mark
	for word := range strings.FieldsSeq(trace.Printable(text)) {
		if cells(line)+1+cells(word) > p.width && strings.TrimSpace(line) != strings.TrimSpace(mark) {
			p.line("%s", line)
			line = indent
		}
		if line != mark && line != indent {
			line += " "
		}
		line += word
	}
	p.line("%s", line)
}

// cells returns how many terminal cells a text takes.
func cells(text string) int { return ansi.StringWidth(text) }

// cut marks where text was cut off.
const cut = "..."

// fit cuts text to a number of cells and marks the cut.
func fit(text string, width int) string { return ansi.Truncate(text, width, cut) }

// bar draws a part of a whole in up to width cells.
func bar(part, whole int64, width int) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	share := min(float64(part)/float64(whole), 1)
	return strings.Repeat("#", int(math.Ceil(share*float64(width))))
}
