package analysis

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// nonsense returns a trace that no allocator writes.
func nonsense(r *rand.Rand) *trace.Trace {
	addrs := []uint64{0, 1, 512, 4096, 1 << 21, 1<<21 + 4096, 1 << 40, math.MaxUint64, math.MaxUint64 - 511}
	sizes := []int64{0, 1, 512, 4096, 1 << 20, 1 << 21, 20 << 20, math.MaxInt64, math.MinInt64, -512}
	in := trace.NewInterner()
	stacks := []trace.StackID{
		0, trace.EmptyStack,
		in.Stack([]trace.FrameID{in.Frame(trace.Frame{File: in.String("a.py"), Name: in.String("step"), Line: 1})}),
		in.Stack([]trace.FrameID{in.Frame(trace.Frame{Name: in.String("Backward::apply")}), in.Frame(trace.Frame{})}),
	}
	note := in.Note(trace.Note{Action: in.String("odd"), Category: in.String("nothing known"), Pool: in.Pool(trace.Pool{3, 4})})
	var log trace.EventLog
	for range r.IntN(400) {
		log.Append(trace.Event{
			Kind: trace.Kind(r.IntN(trace.KindCount)), Addr: addrs[r.IntN(len(addrs))], Size: sizes[r.IntN(len(sizes))],
			Stack: stacks[r.IntN(len(stacks))], Note: trace.NoteID(r.IntN(2)) * note, Time: r.Int64N(1000), Absent: trace.Absent(r.IntN(16)),
		})
	}
	d := trace.Device{Events: log.Events()}
	for range r.IntN(5) {
		s := trace.Segment{Addr: addrs[r.IntN(len(addrs))], Size: sizes[r.IntN(len(sizes))], SegmentFacts: trace.SegmentFacts{Expandable: r.IntN(2) == 0}}
		for range r.IntN(4) {
			s.Blocks = append(s.Blocks, trace.Block{
				Addr: addrs[r.IntN(len(addrs))], Size: sizes[r.IntN(len(sizes))], State: trace.BlockState(r.IntN(5)), Stack: stacks[r.IntN(len(stacks))],
			})
		}
		d.Final.Segments = append(d.Final.Segments, s)
	}
	tables := in.View()
	t := &trace.Trace{Tables: &tables, Devices: []trace.Device{d}}
	for range r.IntN(6) {
		t.Annotations = append(t.Annotations, trace.Annotation{
			Name: in.String("ProfilerStep#1"), Stage: in.String([]string{"START", "END", "?"}[r.IntN(3)]), Time: r.Int64N(1000),
		})
	}
	tables = in.View()
	if r.IntN(2) == 0 {
		addNonsense(r, t)
	}
	return t
}

// addNonsense adds what no program says of itself.
func addNonsense(r *rand.Rand, t *trace.Trace) {
	d := &t.Devices[0]
	if r.IntN(2) == 0 {
		d.Base = &d.Final
	}
	number := func() int64 { return []int64{0, 1, 2, 7, -3, math.MaxInt64, math.MinInt64}[r.IntN(7)] }
	values := func() []trace.Value {
		return []trace.Value{{Key: "a", Value: string(rune('a' + r.IntN(3)))}, {Key: "b"}}[:r.IntN(3)]
	}
	for range r.IntN(40) {
		t.Steps = append(t.Steps, trace.Step{
			Number: number(), Duration: number(), Tokens: number(), Loss: math.NaN(), PeakAllocated: number(), Settings: values(),
			Layers: []trace.Layer{{Name: "a.b"}, {Name: ""}, {Name: "a"}, {Name: "."}, {Name: "a.b"}}[:r.IntN(6)],
		})
	}
	t.Live = &trace.Live{Gauges: []trace.Gauge{{Total: number(), Used: number(), Process: number(), Others: number()}}}
	for range r.IntN(6) {
		from := r.IntN(500) - 50
		t.Live.Gaps = append(t.Live.Gaps, trace.Gap{From: from, To: from + r.IntN(50) - 10})
		t.Live.Changes = append(t.Live.Changes, trace.Change{
			ID: number(), Key: "a", From: "a", To: "b", State: trace.ChangeState(r.IntN(4)), Step: number(), Predicted: &trace.Prediction{PeakAllocated: number()},
		})
	}
}

// askEverything asks every question at every kind of moment.
func askEverything(x *Index, r *rand.Rand) {
	n := x.End() + 1
	for _, at := range []int{-5, -1, 0, n / 2, n - 1, n + 5} {
		x.RequestedAt(at)
		x.ReservedAt(at)
		x.AliveAt(at)
		x.HoldersAt(at)
		x.CategoriesAt(at)
		x.SegmentsAt(at).LargestFit()
		x.Tensors(at)
		x.Sites(at)
		x.Waterfall(at, x.GaugeAt(at))
		x.StepAt(at)
		x.Stacks(at, StackOptions{HideRuntime: true, Match: func(string) bool { return r.IntN(2) == 0 }})
		for _, columns := range []int{-1, 0, 1, 33} {
			line := x.Timeline(at, at+n/3, columns)
			line.SplitByAllocation(x, 10)
			x.TimelineByTime(at, n, columns)
		}
	}
	x.Summary()
	x.OOMs()
	x.Marks()
	x.Steps()
	x.Growth()
	x.Findings()
	x.Experiments()
}

func TestNonsenseIsSurvived(t *testing.T) {
	fatal.IfShort(t)
	for seed := range seeds(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		tr := nonsense(r)
		askEverything(NewIndex(tr, &tr.Devices[0]), r)
	}
}

// TestManyMayReadAnIndexAtOnce has readers that ask for everything first, and want
// what one reader is answered.
func TestManyMayReadAnIndexAtOnce(t *testing.T) {
	tr := pytorchtest.Random(pytorchtest.Options{Seed: 2, Operations: 300})
	alone := NewIndex(tr, &tr.Devices[0])
	wants := make(map[string]any)
	for name, ask := range everyQuestion(alone, 150) {
		wants[name] = ask()
	}
	names := slices.Sorted(maps.Keys(wants))
	for range 10 {
		shared, begin := NewIndex(tr, &tr.Devices[0]), make(chan struct{})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				asked := everyQuestion(shared, 150)
				<-begin
				for _, name := range names {
					if got := asked[name](); !reflect.DeepEqual(got, wants[name]) {
						t.Errorf("%s: got %+v, want %+v", name, got, wants[name])
					}
				}
			})
		}
		close(begin)
		group.Wait()
	}
}
