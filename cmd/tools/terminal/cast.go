package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Cast is a recording of a terminal's output with its times, as asciinema records
// it. One goroutine owns it.
type Cast struct {
	Width, Height int // of the screen, in cells
	Events        []CastEvent
}

// CastEvent is output of the program, in seconds after the begin. One without
// output says how long the last screen stays.
type CastEvent struct {
	At     float64
	Output string
}

// castHeader is the first line of a file.
type castHeader struct {
	Version int `json:"version"`
	Width   int `json:"width"`
	Height  int `json:"height"`
}

// most is the most cells on a side of a screen in a file.
const most = 1000

// Write writes the file in version 2. The file has no date, so that the same
// recording gives the same bytes.
func (c *Cast) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(castHeader{2, c.Width, c.Height}); err != nil {
		return err
	}
	for _, e := range c.Events {
		if err := lines.Encode([]any{math.Round(e.At*1000) / 1000, "o", e.Output}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// ReadCast reads a file of version 2. It leaves out a user's input and other
// events that are not output.
func ReadCast(r io.Reader) (*Cast, error) {
	in := json.NewDecoder(r)
	var header castHeader
	if err := in.Decode(&header); err != nil {
		return nil, fmt.Errorf("reading the head of a recording: %w", err)
	}
	if header.Version != 2 || header.Width < 1 || header.Height < 1 || header.Width > most || header.Height > most {
		return nil, fmt.Errorf("a recording of version %d with %d×%d cells: want version 2", header.Version, header.Width, header.Height)
	}
	c := &Cast{Width: header.Width, Height: header.Height}
	for in.More() {
		var kind string
		var e CastEvent
		if err := in.Decode(&[]any{&e.At, &kind, &e.Output}); err != nil {
			return nil, fmt.Errorf("reading event %d of a recording: %w", len(c.Events), err)
		}
		if n := len(c.Events); n > 0 && e.At < c.Events[n-1].At || e.At < 0 {
			return nil, fmt.Errorf("event %d of a recording is earlier than the one before it", n)
		}
		if kind == "o" {
			c.Events = append(c.Events, e)
		}
	}
	return c, nil
}
