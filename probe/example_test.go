package probe_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// buffers is a program's device memory: every buffer is asked of the driver
// and given back to it on its own.
type buffers struct {
	mu       sync.Mutex
	names    *trace.Interner
	recorder trace.Recorder // nil while there is no listener
	live     map[uint64]buffer
	next     uint64
}

type buffer struct {
	size  int64
	stack trace.StackID
	note  trace.NoteID
}

func newBuffers() *buffers {
	return &buffers{names: trace.NewInterner(), live: make(map[uint64]buffer), next: 1 << 32}
}

// alloc gets memory for what the text says.
func (m *buffers) alloc(size int64, category, role string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	addr := m.next // where a driver would be asked
	m.next += uint64(size+511) &^ 511
	b := buffer{size, m.caller(), m.names.Note(trace.Note{
		Category: m.names.String(category), Role: m.names.String(role),
	})}
	m.live[addr] = b
	m.tell(trace.SegmentAlloc, addr, b)
	m.tell(trace.Alloc, addr, b)
	return addr
}

func (m *buffers) free(addr uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.live[addr]
	delete(m.live, addr)
	m.tell(trace.FreeCompleted, addr, b)
	m.tell(trace.SegmentFree, addr, b)
}

func (m *buffers) tell(kind trace.Kind, addr uint64, b buffer) {
	if m.recorder != nil {
		m.recorder.Record(0, trace.Event{
			Kind: kind, Addr: addr, Size: b.size, Stack: b.stack, Note: b.note, Time: time.Now().UnixMicro(),
		})
	}
}

// caller returns who called alloc.
func (m *buffers) caller() trace.StackID {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var stack []trace.FrameID
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		stack = append(stack, m.names.Frame(trace.Frame{
			File: m.names.String(f.File), Name: m.names.String(f.Function), Line: int32(f.Line),
		}))
	}
	return m.names.Stack(stack)
}

func (m *buffers) Devices() []int { return []int{0} }

func (m *buffers) Settings() []trace.Setting { return nil }

func (m *buffers) Observe(r trace.Recorder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorder = r
}

func (m *buffers) Tables() trace.Tables {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names.View()
}

func (m *buffers) State(_ int, at func()) (s trace.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at() // from here on it is the memory that later events change
	for addr, b := range m.live {
		s.Segments = append(s.Segments, trace.Segment{
			Addr: addr, Size: b.size, Given: trace.GaveAddr | trace.GaveSize,
			Blocks: []trace.Block{{
				Addr: addr, Size: b.size, Requested: b.size, State: trace.Allocated, Stack: b.stack, Note: b.note,
				Given: trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState,
			}},
		})
	}
	slices.SortFunc(s.Segments, func(a, b trace.Segment) int { return int(int64(a.Addr) - int64(b.Addr)) })
	return s
}

// train is a program: it keeps weights, and needs activations in each step.
func train(ctx context.Context, folder string) error {
	memory := newBuffers()
	p, err := probe.Listen(ctx, probe.Options{Dir: folder, Writer: "my engine"}, memory)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }() // what is under way reaches its viewers
	memory.alloc(4096, "parameter", "weight")
	for step := range int64(10) {
		began := time.Now()
		activations := memory.alloc(1<<20, "activation", "hidden")
		memory.free(activations)
		p.Step(trace.Step{Number: step + 1, Time: time.Now().UnixMicro(), Duration: int64(time.Since(began))})
	}
	return look(ctx, p.Path())
}

// look is what a viewer does.
func look(ctx context.Context, socket string) error {
	viewer, err := attach.Dial(ctx, socket, attach.DialOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = viewer.Close() }() // it was only looked at
	t := viewer.Trace()
	for _, s := range t.Devices[0].Final.Segments {
		note := t.Tables.Notes[s.Blocks[0].Note]
		fmt.Println(s.Size, t.Tables.String(note.Category), t.Tables.String(note.Role))
	}
	fmt.Println(len(t.Steps), "steps of", t.Info.Writer)
	return nil
}

// A program shows its memory with one call.
func ExampleListen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := train(context.Background(), filepath.Join(dir, "probe")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 4096 parameter weight
	// 10 steps of my engine
}

// TestTheEmbeddingPageShowsThisCode compares every piece of Go in the page with
// this file and the example program, which are compiled and run.
func TestTheEmbeddingPageShowsThisCode(t *testing.T) {
	page := fatal.Read(t, "../docs/embedding.md")
	var code []byte
	for _, file := range []string{"example_test.go", "../examples/spirals/main.go"} {
		text := fatal.Read(t, file)
		code = append(code, text...)
	}
	pieces := strings.Split(string(page), "```go\n")[1:]
	if len(pieces) < 6 {
		t.Errorf("the page has %d pieces of Go", len(pieces))
	}
	for _, piece := range pieces {
		piece, _, _ = strings.Cut(piece, "```")
		if !strings.Contains(string(code), piece) {
			t.Errorf("not the code of the example:\n%s", piece)
		}
	}
}
