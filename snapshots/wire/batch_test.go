package wire_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// randomName returns a name that is often the same, and may be no text.
func randomName(rnd *rand.Rand) string {
	return []string{"parameter", "gradient", "", "a name of another program", "\xff\xfe\x1b[31m", "é\xe9", "\xed\xa0\x80"}[rnd.IntN(7)]
}

func randomAmounts(rnd *rand.Rand) []trace.Amount {
	list := make([]trace.Amount, rnd.IntN(12))
	for i := range list {
		list[i] = trace.Amount{Name: randomName(rnd), Bytes: int64(edge(rnd))}
	}
	return list
}

// otherBytes returns the same names with other bytes.
func otherBytes(rnd *rand.Rand, list []trace.Amount) []trace.Amount {
	list = slices.Clone(list[:rnd.IntN(len(list)+1)])
	for i := range list {
		list[i].Bytes += int64(rnd.IntN(5) - 2)
	}
	return list
}

func randomLoss(rnd *rand.Rand) float64 {
	switch rnd.IntN(5) {
	case 0:
		return math.Float64frombits(rnd.Uint64()) // which JSON cannot tell apart where it is no number
	case 1:
		return []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000123), math.Copysign(0, -1), math.SmallestNonzeroFloat64}[rnd.IntN(6)]
	default:
		return float64(rnd.Float32())
	}
}

// randomStep returns the step after another: with the same lists, or nearly, or others.
func randomStep(rnd *rand.Rand, last *trace.Step) *trace.Step {
	s := *last
	s.Layers = nil
	s.Loss = randomLoss(rnd)
	for _, n := range []*int64{&s.Time, &s.Duration, &s.Tokens, &s.Allocated, &s.Reserved, &s.PeakAllocated, &s.PeakReserved, &s.ProbeNS} {
		if rnd.IntN(2) == 0 {
			*n = int64(edge(rnd))
		}
	}
	for _, list := range []*[]trace.Amount{&s.Categories, &s.AtPeak, &s.Host} {
		switch rnd.IntN(6) {
		case 0:
			*list = randomAmounts(rnd)
		case 1:
			*list = otherBytes(rnd, *list)
		case 2:
			*list = slices.Clone(*list)
		}
	}
	switch rnd.IntN(30) {
	case 0:
		s.Settings = []trace.Value{{Key: randomName(rnd), Value: randomName(rnd)}, {Key: "amp", Value: "off"}}
	case 1:
		s.Layers = []trace.Layer{{Name: "blocks.0", Calls: 3}}
	case 2:
		s.Settings = []trace.Value{{Key: "data", Value: strings.Repeat("x", 1<<20)}} // too long for a frame of steps
	case 3:
		s.Number, s.Device = int64(edge(rnd)), rnd.IntN(8)-1
	case 4:
		s.ToHost, s.FromHost = int64(edge(rnd)), int64(edge(rnd))
	}
	s.Number++
	s.Skipped = rnd.IntN(4) == 0
	return &s
}

// TestStepsInBatchesAreThoseOfMessages sends the same steps both ways.
func TestStepsInBatchesAreThoseOfMessages(t *testing.T) {
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		steps, last := make([]*trace.Step, 5+rnd.IntN(30)), &trace.Step{}
		for i := range steps {
			last = randomStep(rnd, last)
			steps[i] = last
		}
		single := stepsOf(frames(t, written(t, func(e *wire.Encoder) {
			e.Hello(greeting())
			for _, s := range steps {
				e.Step(s)
			}
		})))
		batched := stepsOf(frames(t, written(t, func(e *wire.Encoder) {
			e.Hello(greeting())
			e.Steps(steps)
		})))
		if len(batched) != len(steps) || len(single) != len(steps) {
			t.Fatalf("with seed %d %d steps come in batches and %d one by one, want %d", seed, len(batched), len(single), len(steps))
		}
		exactly := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
		for i := range single {
			if diff := cmp.Diff(single[i], batched[i], exactly, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("with seed %d step %d (-one by one +in batches):\n%.4000s", seed, i, diff)
			}
		}
	}
}

func stepsOf(all []wire.Frame) (steps []trace.Step) {
	for i := range all {
		if steps = append(steps, all[i].Steps...); all[i].Step != nil {
			steps = append(steps, *all[i].Step)
		}
	}
	return steps
}

// smallSteps are what a small model says of itself, with the lists that it had before
// where they are the same.
func smallSteps(n int) []*trace.Step {
	steps, settings, now := make([]*trace.Step, n), make([]trace.Value, 18), make([]trace.Amount, 10)
	for i := range settings {
		settings[i] = trace.Value{Key: fmt.Sprintf("setting_%02d", i), Value: "on"}
	}
	for i := range now {
		now[i] = trace.Amount{Name: trace.Category(i).String(), Bytes: int64(i) << 20}
	}
	for i := range steps {
		k := int64(i)
		peak := slices.Clone(now)
		peak[3].Bytes += k % 16 << 10
		steps[i] = &trace.Step{
			Number: k + 1, Time: 1_700_000_000_000_000 + 333*k, Duration: 50_000 + k*7919%20_000, Tokens: 32, Loss: float64(float32(1 / float64(k+1))),
			Allocated: 1 << 25, Reserved: 1 << 29, PeakAllocated: 1<<26 + k%16<<10, PeakReserved: 1 << 29, Categories: now, AtPeak: peak, Settings: settings, ProbeNS: 1000 + k%500,
		}
	}
	return steps
}

// TestABatchTakesAFewBytesAStep keeps what a fast program sends small.
func TestABatchTakesAFewBytesAStep(t *testing.T) {
	const n = 300
	got := len(written(t, func(e *wire.Encoder) { e.Steps(smallSteps(n)) }))
	if each := got / n; each > 50 {
		t.Errorf("a step takes %d bytes, want at most 50", each)
	}
}
