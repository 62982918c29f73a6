package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"memtop/snapshots/trace"
)

// Folded stacks
//
// The input of flame graph tools: a line for every stack, its frames from the
// program's entry inwards with semicolons between, a space, and the bytes. With
// several devices each is a frame below the others.

func writeFolded(w io.Writer, t *trace.Trace, o Options) error {
	snapshots, err := o.snapshots(o.indexes(t))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, s := range snapshots {
		names := newFoldedNames(s)
		var order []string
		sums := make(map[string]int64)
		for _, sample := range s.samples() {
			line := names.line(&sample, o.AllFrames)
			if len(snapshots) > 1 {
				line = deviceName(s.index) + ";" + line
			}
			if _, ok := sums[line]; !ok {
				order = append(order, line)
			}
			sums[line] += sample.bytes
		}
		for _, line := range order {
			fmt.Fprintf(out, "%s %d\n", line, sums[line])
		}
	}
	return out.Flush()
}

// foldedNames remembers the names of frames.
type foldedNames struct {
	snapshot
	names map[trace.FrameID]string
}

func newFoldedNames(s snapshot) *foldedNames {
	return &foldedNames{s, make(map[trace.FrameID]string)}
}

// line joins a sample's frames. A semicolon in a name would be read as the end of
// the frame.
func (n *foldedNames) line(s *sample, all bool) string {
	frames := n.frames(s, all)
	if len(frames) == 0 {
		return s.named()
	}
	var b strings.Builder
	for i := len(frames) - 1; i >= 0; i-- {
		name, ok := n.names[frames[i]]
		if !ok {
			name = strings.ReplaceAll(label(n.index.FrameLabel(frames[i])), ";", ",")
			n.names[frames[i]] = name
		}
		b.WriteString(name)
		if i > 0 {
			b.WriteByte(';')
		}
	}
	return b.String()
}
