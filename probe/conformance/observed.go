package conformance

import (
	"fmt"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// observation is the content of a stream, as text that does not depend on its
// table numbers: two streams of one program must have the same text for the same
// event.
type observation struct {
	numbered map[place]string // events, and bases by the next event
}

// place is an event of a device, or the base before it.
type place struct {
	device int
	number int64
	base   bool
}

// observedMost bounds the observations kept of a stream.
const observedMost = 1 << 15

func newObservation() *observation { return &observation{make(map[place]string)} }

func (o *observation) add(at place, text string) {
	if len(o.numbered) < observedMost {
		o.numbered[at] = text
	}
}

func (o *observation) base(t *trace.Tables, f *wire.Frame) {
	var b strings.Builder
	for i := range f.State.Segments {
		g := &f.State.Segments[i]
		fmt.Fprintf(&b, "segment %#x %d %s\n", g.Addr, g.Size, t.Strings[g.Type])
		for k := range g.Blocks {
			fmt.Fprintf(&b, "  %#x %d %v", g.Blocks[k].Addr, g.Blocks[k].Size, g.Blocks[k].State)
			if g.Blocks[k].State.Live() {
				fmt.Fprintf(&b, " %d %s %s", g.Blocks[k].LiveRequested(), stackText(t, g.Blocks[k].Stack), noteText(t, g.Blocks[k].Note))
			}
			b.WriteByte('\n')
		}
	}
	o.add(place{f.Device, f.First, true}, b.String())
}

func (o *observation) events(t *trace.Tables, f *wire.Frame) {
	for i := range f.Events {
		v := &f.Events[i]
		o.add(place{f.Device, f.First + int64(i), false}, fmt.Sprintf("%v %#x %d @%d stream %#x absent %d stack %s note %s",
			v.Kind, v.Addr, v.Size, v.Time, t.Streams[v.Stream], v.Absent, stackText(t, v.Stack), noteText(t, v.Note)))
	}
}

func stackText(t *trace.Tables, id trace.StackID) string {
	var frames []string
	for _, f := range t.Stack(id) {
		frames = append(frames, t.FrameText(f))
	}
	return strings.Join(frames, "<")
}

func noteText(t *trace.Tables, id trace.NoteID) string {
	n := t.Notes[id]
	var texts []string
	for i, s := range n.Texts() {
		if *s > trace.EmptyString {
			texts = append(texts, trace.NoteTexts[i]+"="+t.Strings[*s])
		}
	}
	if n.Pool != 0 {
		texts = append(texts, fmt.Sprint("pool=", t.Pools[n.Pool]))
	}
	return strings.Join(texts, ",")
}
