package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// frame is a screen that is shown for a time: the indexes of its rows among all
// rows, from top to bottom.
type frame struct {
	at   float64
	rows []int
}

// SVG draws the recording as an animated picture without a script: all screens
// are side by side on a strip that jumps from one to the next. A row that several
// screens share is drawn once. Readers whose browser asks for reduced motion see
// the last screen.
func (c *Cast) SVG(w io.Writer) error {
	frames, rows := c.play()
	if len(frames) == 0 {
		return errors.New("the recording shows nothing")
	}
	length := c.Events[len(c.Events)-1].At
	out := bufio.NewWriter(w)
	begin(out, c.Width, c.Height)
	width, _ := pixels(c.Width, c.Height)
	fmt.Fprintf(out, "<style>\n#strip{transform:translateX(%gpx);animation:play %gs step-end infinite}\n@keyframes play{", -width*float64(len(frames)-1), length)
	for i, f := range frames {
		fmt.Fprintf(out, "%.3f%%{transform:translateX(%gpx)}", 100*f.at/length, -width*float64(i))
	}
	fmt.Fprint(out, "}\n@media (prefers-reduced-motion:reduce){#strip{animation:none}}\n</style>\n<defs>\n")
	for i, row := range rows {
		fmt.Fprintf(out, "<g id=\"r%d\">%s</g>\n", i, row)
	}
	fmt.Fprint(out, "</defs>\n<g id=\"strip\">\n")
	for i, f := range frames {
		fmt.Fprintf(out, `<g transform="translate(%g)">`, width*float64(i))
		for y, row := range f.rows {
			if row != blank {
				fmt.Fprintf(out, `<use href="#r%d" y="%.1f"/>`, row, float64(y)*cellHeight)
			}
		}
		fmt.Fprint(out, "</g>\n")
	}
	fmt.Fprint(out, "</g>\n</g>\n</svg>\n")
	return out.Flush()
}

// Last returns the rows of the last screen, as [Terminal.Text] does.
func (c *Cast) Last() string {
	screen := newScreen(c.Width, c.Height, io.Discard)
	defer screen.close()
	for _, e := range c.Events {
		_, _ = screen.WriteString(e.Output) // it cannot fail
	}
	return screen.text()
}

// blank stands for a row with nothing on it.
const blank = -1

// play returns the screens that the recording shows, and the rows that they have.
func (c *Cast) play() (frames []frame, rows []string) {
	screen := newScreen(c.Width, c.Height, io.Discard)
	defer screen.close()
	numbers := map[string]int{"": blank}
	for i, e := range c.Events {
		_, _ = screen.WriteString(e.Output) // it cannot fail
		if i+1 < len(c.Events) && c.Events[i+1].At == e.At || i+1 == len(c.Events) {
			continue // nobody sees it
		}
		f := frame{at: e.At}
		for y := range c.Height {
			var drawn bytes.Buffer
			drawRow(&drawn, screen, y, margin)
			number, known := numbers[drawn.String()]
			if !known {
				number = len(rows)
				rows = append(rows, drawn.String())
				numbers[drawn.String()] = number
			}
			f.rows = append(f.rows, number)
		}
		frames = append(frames, f)
	}
	return frames, rows
}
