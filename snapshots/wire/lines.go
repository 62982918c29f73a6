package wire

import (
	"io"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// NewLineEncoder returns an encoder that writes the same frames as lines of
// JSON, for programs that have no decoder: {"type": …, "data": …} each. There
// are no header and no checksums, and nothing reads them back.
func NewLineEncoder(w io.Writer) *Encoder {
	return &Encoder{w: trace.PrintableJSON(w), sent: fixedCounts, lines: true}
}

type line struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

// address is written as text: many JSON readers keep 53 bits of a number.
type address uint64

// MarshalText writes "0x…".
func (a address) MarshalText() ([]byte, error) {
	return strconv.AppendUint([]byte("0x"), uint64(a), 16), nil
}

// tableLine is entries of a table, the first of which has that number.
type tableLine struct {
	First   int `json:"first"`
	Entries any `json:"entries"`
}

func (e *Encoder) tableLines(t *trace.Tables) {
	sendTable(e, StringTable, &e.sent.strings, len(t.Strings), func(i int) string { return t.Strings[i] })
	sendTable(e, ListTable, &e.sent.lists, len(t.Lists), func(i int) []trace.StringID { return t.Lists[i] })
	sendTable(e, PoolTable, &e.sent.pools, len(t.Pools), func(i int) trace.Pool { return t.Pools[i] })
	sendTable(e, StreamTable, &e.sent.streams, len(t.Streams), func(i int) address { return address(t.Streams[i]) })
	sendTable(e, FrameTable, &e.sent.frames, len(t.Frames), func(i int) frameLine {
		f := &t.Frames[i]
		return frameLine{f.File, f.Name, f.Line}
	})
	sendTable(e, StackTable, &e.sent.stacks, t.StackCount(), func(i int) []trace.FrameID {
		return t.Stack(trace.StackID(i))
	})
	sendTable(e, NoteTable, &e.sent.notes, len(t.Notes), func(i int) trace.Note { return t.Notes[i] })
}

// lineEntries bounds the entries of one line.
const lineEntries = 1024

func sendTable[T any](e *Encoder, t Type, sent *int, count int, entry func(int) T) {
	for *sent < count {
		data := tableLine{First: *sent}
		var entries []T
		for ; *sent < count && len(entries) < lineEntries; *sent++ {
			entries = append(entries, entry(*sent))
		}
		data.Entries = entries
		e.message(t, data)
	}
}

type frameLine struct {
	File trace.StringID `json:"file"`
	Name trace.StringID `json:"name"`
	Line int32          `json:"line"`
}

type eventsLine struct {
	Device int         `json:"device"`
	First  int64       `json:"first"`
	Events []eventLine `json:"events"`
}

type eventLine struct {
	Kind   string         `json:"kind"`
	Addr   address        `json:"addr"`
	Size   int64          `json:"size"`
	Time   int64          `json:"time_us"`
	Stack  trace.StackID  `json:"stack,omitempty"`
	Note   trace.NoteID   `json:"note,omitempty"`
	Stream trace.StreamID `json:"stream,omitempty"`
	Absent trace.Absent   `json:"absent,omitempty"`
	Slack  *int64         `json:"slack,omitempty"`
}

func (e *Encoder) eventsLine(device int, first int64, events []trace.Event) {
	data := eventsLine{device, first, make([]eventLine, len(events))}
	for i := range events {
		v := &events[i]
		data.Events[i] = eventLine{
			v.Kind.String(), address(v.Addr), v.Size, v.Time, v.Stack, v.Note, v.Stream, v.Absent, nil,
		}
		if size, exact := v.BlockSize(); exact {
			slack := size - v.Size
			data.Events[i].Slack = &slack
		}
	}
	e.message(EventsFrame, data)
}

// snapshotLine is a part of a snapshot, which JSON has in Base64.
type snapshotLine struct {
	Left   int    `json:"parts_left"`
	Pickle []byte `json:"pickle"`
}

type tagLine struct {
	Addr address      `json:"addr"`
	Note trace.NoteID `json:"note"`
}

func (e *Encoder) tagsLine(device int, tags []trace.Tag) {
	data := struct {
		Device int       `json:"device"`
		Tags   []tagLine `json:"tags"`
	}{device, make([]tagLine, len(tags))}
	for i, t := range tags {
		data.Tags[i] = tagLine{address(t.Addr), t.Note}
	}
	e.message(TagsFrame, data)
}

type baseLine struct {
	Device   int           `json:"device"`
	First    int64         `json:"first"`
	Missed   int64         `json:"missed"`
	Reason   string        `json:"reason,omitempty"`
	Segments []segmentLine `json:"segments"`
}

type blockLine struct {
	Addr      address       `json:"addr"`
	Size      int64         `json:"size"`
	Requested int64         `json:"requested"`
	State     string        `json:"state"`
	Stack     trace.StackID `json:"stack,omitempty"`
	Note      trace.NoteID  `json:"note,omitempty"`
}

func (e *Encoder) baseLine(device int, first int64, s *trace.State, missed int64, reason string) {
	data := baseLine{device, first, missed, reason, make([]segmentLine, len(s.Segments))}
	for i := range s.Segments {
		g := &s.Segments[i]
		to := &data.Segments[i]
		*to = newSegmentLine(g)
		for k := range g.Blocks {
			b := &g.Blocks[k]
			to.Blocks[k] = blockLine{address(b.Addr), b.Size, b.Requested, b.State.String(), b.Stack, b.Note}
		}
	}
	e.message(BaseFrame, data)
}
