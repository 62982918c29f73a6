package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// maxLine bounds a line of JSON, in bytes.
const maxLine = 16 << 20

// line is one frame as JSON.
type line struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// lineReader reads a stream of lines into an observation. It has its own reader
// for the page's names, so that memtop's own writer is also checked against the
// page.
type lineReader struct {
	*ledger
	observed *observation
	names    *trace.Interner
	streams  []trace.StreamID
	strings  []trace.StringID
	pools    []trace.PoolID
	lists    []trace.ListID
	frames   []trace.FrameID
	stacks   []trace.StackID
	notes    []trace.NoteID
	count    int
	batches  int
	begun    func() // called with the first batch
}

func newLineReader(l *ledger) *lineReader {
	return &lineReader{
		ledger: l, observed: newObservation(), names: trace.NewInterner(),
		streams: []trace.StreamID{0}, strings: []trace.StringID{0, trace.EmptyString}, pools: []trace.PoolID{0}, lists: []trace.ListID{0},
		frames: []trace.FrameID{0}, stacks: []trace.StackID{0, trace.EmptyStack}, notes: []trace.NoteID{0},
	}
}

// lines reads the stream as lines of JSON for that long from its first batch on.
func (e *examination) lines(ctx context.Context, long time.Duration) *lineReader {
	r := newLineReader(e.ledger)
	ctx, begun, end := window(ctx, e.within(answerWithin), long)
	defer end()
	r.begun = begun
	r.names.Bound(watchMemory)
	response, err := e.viewer.open(ctx, request{method: http.MethodGet, path: asking{interval: protocol.DefaultInterval}.path(), accept: contentNDJSON})
	if err != nil {
		e.broken("lines.answer", "a stream", "%v", err)
		return r
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if !e.answers("lines.answer", response, contentNDJSON) {
		return r
	}
	in := bufio.NewReaderSize(response.Body, maxLine)
	for {
		text, err := in.ReadSlice('\n')
		if err != nil { // an unfinished line does not count: the examination may have closed the stream
			e.check("lines.form", !errors.Is(err, bufio.ErrBufferFull), "lines of at most 16 MiB", "a longer one")
			break
		}
		if !r.line(text) {
			break
		}
		r.count++
	}
	return r
}

// line reads a line, and reports whether the next is worth reading.
func (r *lineReader) line(text []byte) bool {
	var l line
	err := json.Unmarshal(text, &l)
	if !r.check("lines.form", err == nil && l.Type != "" && l.Data != nil, `{"type": …, "data": …} in each line`, "%.200s", text) {
		return false
	}
	if r.count == 0 {
		r.check("lines.form", l.Type == wire.HelloFrame.String(), "hello first", "%s", l.Type)
	}
	rule := ruleOfLine(l.Type)
	if err := r.take(l); err != nil {
		r.broken(rule, "the names and numbers of the page", "%s: %v", l.Type, err)
		return false
	}
	r.passed(rule)
	return true
}

func ruleOfLine(name string) string {
	switch name {
	case "base":
		return "lines.base"
	case "events":
		return "lines.events"
	case "snapshot", "tags":
		return "lines.parts"
	case "strings", "lists", "pools", "streams", "frames", "stacks", "notes":
		return "lines.tables"
	}
	return "lines.form"
}

func (r *lineReader) take(l line) error {
	switch l.Type {
	case "counters":
		r.batches++
		if r.batches == 1 {
			r.begun()
		}
	case "base":
		return r.base(l.Data)
	case "events":
		return r.events(l.Data)
	case "strings":
		return entries(l.Data, &r.strings, func(s string) (trace.StringID, error) { return r.names.String(s), nil })
	case "lists":
		return entries(l.Data, &r.lists, func(list []int) (trace.ListID, error) {
			ids, err := all(list, r.strings)
			return r.names.List(ids), err
		})
	case "pools":
		return entries(l.Data, &r.pools, func(p trace.Pool) (trace.PoolID, error) { return r.names.Pool(p), nil })
	case "streams":
		return entries(l.Data, &r.streams, func(a address) (trace.StreamID, error) { return r.names.Stream(uint64(a)), nil })
	case "frames":
		return entries(l.Data, &r.frames, r.frame)
	case "stacks":
		return entries(l.Data, &r.stacks, func(list []int) (trace.StackID, error) {
			ids, err := all(list, r.frames)
			return r.names.Stack(ids), err
		})
	case "notes":
		return entries(l.Data, &r.notes, r.note)
	case "snapshot":
		return r.part(l.Data)
	case "tags":
		return r.tags(l.Data)
	}
	return nil
}

// address is a number as text.
type address uint64

// UnmarshalJSON reads "0x…".
func (a *address) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return fmt.Errorf("%.40q is not an address such as \"0x7f\"", s)
	}
	*a = address(n)
	return nil
}

// entries reads the entries of a table.
func entries[ID, T any](data []byte, table *[]ID, add func(T) (ID, error)) error {
	var said struct {
		First   *int `json:"first"`
		Entries []T  `json:"entries"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	if said.First == nil || *said.First != len(*table) {
		return fmt.Errorf("first is not %d, which comes next: %.60s", len(*table), data)
	}
	for _, entry := range said.Entries {
		id, err := add(entry)
		if err != nil {
			return err
		}
		*table = append(*table, id)
	}
	return nil
}

// of returns the table entry with a number.
func of[ID any](table []ID, n int) (ID, error) {
	if n < 0 || n >= len(table) {
		var none ID
		return none, fmt.Errorf("number %d is in no table before", n)
	}
	return table[n], nil
}

func all[ID any](list []int, table []ID) ([]ID, error) {
	ids := make([]ID, len(list))
	for i, n := range list {
		var err error
		if ids[i], err = of(table, n); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
