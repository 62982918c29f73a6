package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/trace"
)

// Folded stacks
//
// The input of flame graph tools: a line for every stack, its frames from the
// program's entry inwards with semicolons between, a space, and the bytes. A
// frame begins with its function, because a box of a flame graph shows the begin.
// With several devices, each device is the outermost frame of its stacks.

func writeFolded(w io.Writer, t *trace.Trace, o Options) error {
	snapshots, err := o.snapshots(o.indexes(t))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, s := range snapshots {
		names := newFoldedNames(s.index, o.AllFrames)
		type sum struct {
			line  string
			bytes int64
		}
		var sums grouped.By[string, sum]
		for _, sample := range s.samples(false) {
			line := names.line(sample.stack)
			if line == "" {
				line = sample.named()
			}
			if len(snapshots) > 1 {
				line = deviceName(s.index) + ";" + line
			}
			s := sums.Of(line)
			*s = sum{line, s.bytes + sample.bytes}
		}
		for _, sum := range sums.List {
			fmt.Fprintf(out, "%s %d\n", sum.line, sum.bytes)
		}
	}
	return out.Flush()
}

// foldedNames joins the frames of stacks, and remembers their names.
type foldedNames struct {
	index  *analysis.Index
	all    bool // runtime frames too
	names  map[trace.FrameID]string
	joined []byte
}

func newFoldedNames(x *analysis.Index, all bool) *foldedNames {
	return &foldedNames{index: x, all: all, names: make(map[trace.FrameID]string)}
}

// line joins a stack's frames. It is empty if no frame is known.
func (n *foldedNames) line(stack trace.StackID) string {
	frames := framesOf(n.index, stack, n.all)
	n.joined = n.joined[:0]
	for i := len(frames) - 1; i >= 0; i-- {
		n.joined = append(n.joined, n.name(frames[i])...)
		if i > 0 {
			n.joined = append(n.joined, ';')
		}
	}
	return string(n.joined)
}

// name returns "function (file:line)", or the known part of it. It replaces
// semicolons, which would end the frame.
func (n *foldedNames) name(id trace.FrameID) string {
	name, ok := n.names[id]
	if ok {
		return name
	}
	tables := n.index.Trace().Tables
	frame := tables.Frames[id]
	name, file := tables.String(frame.Name), tables.String(frame.File)
	switch {
	case name == "":
		name = placeName(tables, id)
	case frame.Line > 0 && file != "" && file != "??":
		name = label(name) + " (" + label(file) + ":" + strconv.Itoa(int(frame.Line)) + ")"
	default:
		name = label(name)
	}
	name = strings.ReplaceAll(name, ";", ",")
	n.names[id] = name
	return name
}
