package wire_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// exampleOf returns the bytes of the example of docs/protocol.md: hexadecimal
// numbers, text in single quotes, and comments after #.
func exampleOf(t *testing.T) []byte {
	t.Helper()
	page := fatal.Read(t, "../../docs/protocol.md")
	_, rest, ok := strings.Cut(string(page), "```hex\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page has no example")
	}
	var out []byte
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "#")
		for i, part := range strings.Split(line, "'") {
			if i%2 == 1 {
				out = append(out, part...)
				continue
			}
			b, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			out = append(out, b...)
		}
	}
	return out
}

// exampleFrames writes what the example says after its hello.
func exampleFrames(e *wire.Encoder) {
	in := trace.NewInterner()
	in.String("small")
	in.String("activation")
	in.Pool(trace.Pool{})
	in.Note(trace.Note{Category: 3})
	view := in.View()
	e.Tables(&view)
	const given = trace.GaveAddr | trace.GaveRequested | trace.GaveState | trace.GaveSize
	e.Base(0, 40, &trace.State{Segments: []trace.Segment{{
		Addr: 0x200000, Size: 2 * mib, Given: 0xfff &^ trace.GaveHistory &^ trace.GaveState,
		SegmentFacts: trace.SegmentFacts{Type: 2, Pool: 1, Stack: 1},
		Blocks:       []trace.Block{{Addr: 0x200000, Size: 2 * mib, Stack: 1, Given: given}},
	}}}, 0, "")
	const at = 1_700_000_000_000_000
	e.Events(0, 40, []trace.Event{
		{Kind: trace.Alloc, Addr: 0x200000, Size: 1000, Time: at, Stack: 1, Note: 1},
		{Kind: trace.FreeRequested, Addr: 0x200000, Size: 1000, Time: at + 25, Stack: 1, Note: 1},
		{Kind: trace.FreeCompleted, Addr: 0x200000, Size: 1000, Time: at + 25, Stack: 1, Note: 1},
	})
	e.Bye("done")
}

func TestTheExampleOfThePage(t *testing.T) {
	example := exampleOf(t)
	got, err := wire.Read(t.Context(), bytes.NewReader(example), wire.Options{})
	fatal.If(t, err)
	d := got.Device(0)
	if d == nil || d.First != 40 || d.Events.Len() != 3 || got.Live.PID != 7 || got.Live.Note != "done" || got.Info.Truncated {
		t.Fatalf("the example is %+v with %+v", got.Info, d)
	}
	if problems := tracetest.Check(got); problems.Count > 0 || len(got.Notices) > 0 {
		t.Errorf("problems %v, notices %q", problems.First, got.Notices)
	}
	const hello = 8 + 2 + 21 + 4
	rest := written(t, func(e *wire.Encoder) {
		e.Hello(&wire.Hello{})
		exampleFrames(e)
	})
	if want := example[hello:]; !bytes.HasSuffix(rest, want) {
		t.Errorf("after its hello the example is\n% x\nand the encoder writes\n% x", want, rest)
	}
}

// TestThePageNamesEveryType keeps the page from falling behind.
func TestThePageNamesEveryType(t *testing.T) {
	page := fatal.Read(t, "../../docs/protocol.md")
	for kind := wire.StringTable; kind <= wire.StepsFrame; kind++ {
		name := kind.String()
		if name == "unknown" || !strings.Contains(strings.ToLower(string(page)), name) {
			t.Errorf("frames of type %d (%s) are not on the page", kind, name)
		}
	}
}
