package blackbox

import (
	"bytes"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// streamed makes a box without rings, of a program with device 3, and returns what is read of it.
func streamed(t *testing.T, settings []trace.Setting, write func(*wire.Encoder)) *trace.Trace {
	t.Helper()
	data := make([]byte, LeastSize)
	w, err := NewWriter(data, nil)
	fatal.If(t, err)
	w.Begin(nil)
	e := wire.NewEncoder(w)
	e.Hello(&wire.Hello{PID: 4711, Devices: []int{3}, Settings: settings})
	write(e)
	fatal.If(t, e.Flush())
	w.Publish()
	tr, err := Read(t.Context(), bytes.NewReader(data), Options{})
	fatal.If(t, err)
	if n := len(tr.Live.Ended.Devices); n != 1 || tr.Device(3) == nil {
		t.Fatalf("%d devices have an end", n)
	}
	return tr
}

// held is a state with one block of 1,000 bytes.
func held() *trace.State {
	block := trace.Block{Addr: 4096, Size: 1000, Requested: 1000, State: trace.Allocated}
	return &trace.State{Segments: []trace.Segment{{Addr: 4096, Size: 1000, SegmentFacts: trace.SegmentFacts{Device: 3}, Blocks: []trace.Block{block}}}}
}

func step(number, time, allocated int64) *trace.Step {
	return &trace.Step{Number: number, Time: time, Device: 3, Allocated: allocated, Reserved: 2 * allocated, NoLoss: true}
}

func TestABoxWithoutALookHasWhatItsStepsSay(t *testing.T) {
	for name, test := range map[string]struct {
		steps []*trace.Step
		want  trace.LastEvent
	}{
		"no steps": {nil, trace.LastEvent{Device: 3, Requested: trace.Unknown, Reserved: trace.Unknown, Looked: trace.Unknown}},
		"steps that say nothing of memory": {
			[]*trace.Step{step(1, 10, 0)}, trace.LastEvent{Device: 3, Time: 10, Requested: trace.Unknown, Reserved: trace.Unknown, Looked: trace.Unknown},
		},
		"the last one that does counts": {
			[]*trace.Step{step(1, 10, 70), step(2, 20, 80), step(3, 30, 0)},
			trace.LastEvent{Device: 3, Time: 30, Requested: 80, Reserved: 160, Looked: trace.Unknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := streamed(t, nil, func(e *wire.Encoder) {
				for _, s := range test.steps {
					e.Step(s)
				}
			})
			if got := tr.Live.Ended.Devices[0]; got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestALookIsOlderThanTheStepsAfterIt has a look at step 1, and step 2 after it. With an
// allocator that caches, the step counts the same memory as the look; without, only a part.
func TestALookIsOlderThanTheStepsAfterIt(t *testing.T) {
	for name, test := range map[string]struct {
		settings  []trace.Setting
		requested int64
	}{
		"a caching allocator": {nil, 80},
		"none":                {[]trace.Setting{{Key: "allocator", Value: "none"}}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			look := func(e *wire.Encoder) {
				e.Base(3, 5, held(), 0, "")
				e.Events(3, 5, []trace.Event{{Kind: trace.StepEnd, Size: 1, Time: 10, Stack: trace.EmptyStack}})
				e.Step(step(1, 10, 1000))
			}
			got := streamed(t, test.settings, look).Live.Ended.Devices[0]
			if got.Looked != 0 || got.Requested != 1000 || got.Time != 10 || got.Events != 6 {
				t.Errorf("right after the look: %+v", got)
			}
			got = streamed(t, test.settings, func(e *wire.Encoder) { look(e); e.Step(step(2, 25, 80)) }).Live.Ended.Devices[0]
			if got.Looked != 10 || got.Time != 25 || got.Requested != test.requested {
				t.Errorf("a step later: %+v, want %d bytes", got, test.requested)
			}
		})
	}
}
