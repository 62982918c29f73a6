package train

import (
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
)

// unary is an operation on so many numbers.
func unary(f device.UnaryOp, n int64) dry.Op {
	return dry.Op{Name: dry.Unary, Which: uint8(f), Elements: n, Bytes: 8 * n, Types: 0x11}
}

// measured are times as if a run had measured them, of operations that take as much as
// they should, times slow, and of a program that takes so long beside them.
func measured(slow, beside float64, ops ...dry.Op) *stepTimes {
	s := &stepTimes{ops: make(opTimes)}
	for _, op := range ops {
		s.ops[op] = &recent{slow * likely(&op, 1)}
	}
	s.beside.add(beside)
	return s
}

func TestAnOperationThatWasNotMeasuredTakesWhatTheNearestOneDoes(t *testing.T) {
	const n = 1 << 20
	relu, gelu := unary(device.ReLU, n), unary(device.GELU, n)
	s := measured(2, 0, relu, gelu)
	*s.ops[gelu] = recent{10 * likely(&gelu, 1)}
	ops := dry.Ops{relu: {Times: 1}, gelu: {Times: 1}}
	w, ok := s.workload(ops, 1)
	if !ok {
		t.Fatal("the steps were measured")
	}
	tests := map[string]struct {
		op   dry.Op
		slow float64
	}{
		"the same function, of less":   {unary(device.GELU, n/64), 10},
		"the same function, of more":   {unary(device.ReLU, n*64), 2},
		"an operation like none":       {dry.Op{Name: dry.Cast, Elements: n, Bytes: 6 * n, Types: 0x31}, w.speed},
		"a function that was measured": {relu, 10}, // by the other one
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, want := w.guess(&test.op), test.slow*likely(&test.op, 1); math.Abs(got/want-1) > 0.001 {
				t.Errorf("got %.0f ns, want %.0f", got, want)
			}
		})
	}
	if off := w.error(); off < 0.5 {
		t.Errorf("guesses are said to be off by %.2f, though one function takes five times what another does", off)
	}
	delete(s.ops, gelu)
	if _, ok := s.workload(ops, 1); ok {
		t.Error("the time of a step is known without one of its operations")
	}
}

// TestMoreOperationsTakeMoreOfTheHost divides the work of one operation among many.
func TestMoreOperationsTakeMoreOfTheHost(t *testing.T) {
	whole, parts := unary(device.ReLU, 64*onePart), unary(device.ReLU, onePart)
	const beside = 10 * hostCall
	s := measured(1, beside, whole, parts)
	before := dry.Ops{whole: {Times: 1}}
	w, ok := s.workload(before, 1)
	if !ok {
		t.Fatal("the steps were measured")
	}
	sum := likely(&whole, 1)
	if got := w.step(before).whole; math.Abs(got-sum-beside) > 1 {
		t.Errorf("the step as it is takes %.0f ns, want %.0f", got, sum+beside)
	}
	after := w.step(dry.Ops{parts: {Times: 64}})
	want := 64*likely(&parts, 1)*(1+9*hostCall/sum) + 64*hostCall
	if math.Abs(after.whole-want) > 1 || after.unknown != 0 {
		t.Errorf("in 64 parts it takes %.0f ns, %.0f of them unknown, want %.0f", after.whole, after.unknown, want)
	}
	copied := w.step(dry.Ops{whole: {Times: 1}, {Name: dry.Crossing}: {Times: 1000}})
	if got := copied.whole - copied.unknown*(1+w.share); math.Abs(got-(sum*(1+w.share))) > 1+hostCall {
		t.Errorf("copies to the host take the program %.0f ns", got-sum)
	}
}
