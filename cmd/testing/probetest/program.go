// Package probetest imitates a program, for tests of probes and of viewers.
package probetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// Program is an artificial program with one allocator: equal blocks in one
// segment, allocated and freed in turn. A probe shows it and viewers change it.
// Its methods are safe for concurrent use; its fields are set before a probe
// listens, or read when nothing runs.
type Program struct {
	Names      *trace.Interner
	Recorder   trace.Recorder    // nil while no probe observes
	Events     int64             // recorded or not
	Values     map[string]string // of the settings in the next step
	Refusal    error             // of every change
	Epoch      int64             // microseconds since 1970 of the time 0
	Prediction func(context.Context, []trace.Value) (*trace.Prediction, error)

	mu     sync.Mutex
	states int // how often a state was asked for
	live   []bool
	next   int
	stack  trace.StackID
	note   trace.NoteID
	step   int64
}

const base = 1 << 30

// The number of a program's blocks, and the bytes of each.
const (
	Slots = 64
	Block = 4096
)

// New returns a program without allocated slots.
func New() *Program {
	p := &Program{Names: trace.NewInterner(), live: make([]bool, Slots), Values: map[string]string{"checkpoint": "none", "amp": "off"}}
	frame := p.Names.Frame(trace.Frame{File: p.Names.String("model.go"), Name: p.Names.String("forward"), Line: 7})
	p.stack = p.Names.Stack([]trace.FrameID{frame})
	p.note = p.Names.Note(trace.Note{Category: p.Names.String("activation")})
	return p
}

// Devices returns the only device.
func (p *Program) Devices() []int { return []int{0} }

// Tables returns the names so far.
func (p *Program) Tables() trace.Tables {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Names.View()
}

// State returns the state with the allocated slots.
func (p *Program) State(_ int, at func()) trace.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	at()
	p.states++
	return p.state()
}

func (p *Program) state() trace.State {
	s := trace.Segment{
		Addr: base, Size: Slots * Block,
		Given:        trace.GaveAddr | trace.GaveSize | trace.GaveType,
		SegmentFacts: trace.SegmentFacts{Type: p.Names.String("large")},
	}
	for i, live := range p.live {
		b := trace.Block{Addr: Address(i), Size: Block, Requested: Block, Given: trace.GaveAddr | trace.GaveSize | trace.GaveState}
		if live {
			b.State, b.Stack, b.Note = trace.Allocated, p.stack, p.note
			s.Allocated += b.Size
		}
		s.Blocks = append(s.Blocks, b)
	}
	return trace.State{Segments: []trace.Segment{s}}
}

// Address returns the address of a slot.
func Address(slot int) uint64 { return base + uint64(slot)*Block }

// Settings returns the allocator's settings.
func (p *Program) Settings() []trace.Setting {
	return []trace.Setting{{Key: "expandable_segments", Value: false}}
}

// Observe makes r record all events from now on. If r is nil, recording ends.
func (p *Program) Observe(r trace.Recorder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Recorder = r
}

// Run makes n events: it allocates every slot, then frees every slot.
func (p *Program) Run(n int) {
	for range n {
		p.mu.Lock()
		slot := p.next % Slots
		p.next++
		kind := trace.Alloc
		if p.live[slot] {
			kind = trace.Free
		}
		p.live[slot] = !p.live[slot]
		p.Events++
		if p.Recorder != nil {
			p.Recorder.Record(0, trace.Event{
				Addr: Address(slot), Size: Block, Time: p.Epoch + p.Events, Stack: p.stack, Note: p.note, Kind: kind,
			})
		}
		p.mu.Unlock()
	}
}

// RunAt makes n events at a given rate per second, and returns how long that
// took. After a delay it continues at the same rate, and does not catch up.
func (p *Program) RunAt(rate, n int) time.Duration {
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for made := 0; made < n; <-tick.C {
		due := min(n, int(time.Since(began).Seconds()*float64(rate)), made+max(1, rate/50))
		p.Run(due - made)
		made = due
	}
	return time.Since(began)
}

// Asked returns how often a state was asked for.
func (p *Program) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.states
}

// Name interns a text that only events from now on refer to.
func (p *Program) Name(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note = p.Names.Note(trace.Note{Category: p.Names.String(text)})
}

// Stepper is the part of a probe that takes steps.
type Stepper interface{ Step(s trace.Step) }

// Finish ends a step with the current settings.
func (p *Program) Finish(to Stepper) {
	p.mu.Lock()
	p.step++
	s := trace.Step{
		Number: p.step, Duration: int64(time.Millisecond), Time: p.Epoch + p.step, Loss: 2, PeakAllocated: Slots * Block, PeakReserved: Slots * Block,
		AtPeak: []trace.Amount{{Name: "activation", Bytes: Slots * Block}},
	}
	for key, value := range p.Values {
		s.Settings = append(s.Settings, trace.Value{Key: key, Value: value})
	}
	p.mu.Unlock()
	slices.SortFunc(s.Settings, func(a, b trace.Value) int { return strings.Compare(a.Key, b.Key) })
	to.Step(s)
}

// Options returns two settings, of which the first takes any value.
func (p *Program) Options() []trace.Option {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []trace.Option{
		{Key: "checkpoint", Value: p.Values["checkpoint"], Choices: []string{"none", "block"}, Free: true},
		{Key: "amp", Value: p.Values["amp"], Choices: []string{"off", "bf16"}},
	}
}

// Set changes a setting, or returns the refusal.
func (p *Program) Set(key, value string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Refusal != nil {
		return p.Refusal
	}
	p.Values[key] = strings.TrimSpace(value)
	return nil
}

// Predict asks Prediction, if there is one.
func (p *Program) Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error) {
	if p.Prediction == nil {
		return nil, nil //nolint:nilnil // nil means that the program does not know
	}
	return p.Prediction(ctx, changes)
}

// Eventually polls until done reports true, for five minutes at most.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("not in five minutes: %s", what)
		}
	}
}

// Must ends the test unless all errors are nil.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	fatal.If(t, errors.Join(errs...))
}

// Viewer follows a program: an attach.Client.
type Viewer interface {
	Trace() *trace.Trace
	Changed() <-chan struct{}
}

// Awaiting waits until a viewer's trace satisfies ok, for five minutes at most, and
// returns it.
func Awaiting(t testing.TB, v Viewer, what string, ok func(*trace.Trace) bool) *trace.Trace {
	t.Helper()
	limit := time.After(5 * time.Minute) // only to say what did not come
	for {
		now := v.Trace()
		if ok(now) {
			return now
		}
		select {
		case <-v.Changed():
		case <-limit:
			t.Fatalf("not in five minutes: %s; it has %d events and says %q, %+v", what, now.Devices[0].Events.Len(), now.Live.Note, now.Live.Gaps)
		}
	}
}

// WithoutBoxes turns off black boxes for the programs of a package's tests.
// Programs that are killed or run out of memory would otherwise leave boxes among
// the user's own. A test that wants a box names its folder. TestMain calls
// WithoutBoxes.
func WithoutBoxes() {
	const variable = "MEMTOP_BLACK_BOX" // of package protocol, which tests with this one too
	if os.Getenv(variable) == "" {
		_ = os.Setenv(variable, "off") // the name is valid
	}
}

// AsOtherUsers skips a test that must run programs as other users, if it cannot:
// only root may, and only if every user can enter the folder for temporary files.
// Root's own may be closed to others.
func AsOtherUsers(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as other users")
	}
	if closed := closedTo(os.TempDir()); closed != "" {
		t.Skipf("other users cannot enter %s, where temporary files are: TMPDIR may name another folder", closed)
	}
}

// closedTo returns the first folder of a path that not every user can enter, ""
// if there is none.
func closedTo(folder string) string {
	const enter = 0o001
	folder, err := filepath.Abs(folder)
	if err != nil {
		return folder
	}
	if parent := filepath.Dir(folder); parent != folder {
		if closed := closedTo(parent); closed != "" {
			return closed
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode()&enter == 0 {
		return folder
	}
	return ""
}
