package autograd_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/tensor"
)

var eps = autograd.NormOptions{Eps: 1e-5}

// launches imitates a GPU, and counts its kernels.
type launches struct{ of map[kernels.Kernel]int }

func (l *launches) Enqueue(k *kernels.Launch) { l.of[k.Kernel]++ }

// take returns how many there were since the last call.
func (l *launches) take() (n int) {
	for _, times := range l.of {
		n += times
	}
	clear(l.of)
	return n
}

// metered returns a tape whose device counts operations.
func metered(t *testing.T) (*autograd.Tape, *launches) {
	t.Helper()
	a, err := alloc.New(dry.NewMemory(0), alloc.Options{})
	fatal.If(t, err)
	l := &launches{of: make(map[kernels.Kernel]int)}
	compute := kernels.NewCompute(l, device.Buffer{Addr: 1 << 20, Bytes: kernels.ScratchBytes}, 1<<16)
	backend := struct {
		device.Transfers
		*kernels.Compute
	}{dry.Backend{}, compute}
	return autograd.NewTape(tensor.NewDevice("dry:0", a, backend, tensor.Options{}), 1), l
}

func TestASumIsDoneWithTheNormThatFollowsIt(t *testing.T) {
	tape, m := metered(t)
	d := tape.Device()
	w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{4}, device.Float32, 1, tensor.Tag{}))
	tape.Run(func() {
		stream := tape.Scale(w.Value(), 1)
		branch := tape.Cast(tape.Scale(w.Value(), 2), device.BFloat16)
		m.take()
		sum := tape.Add(stream, branch)
		y := tape.LayerNorm(sum, w.Value(), nil, eps)
		if n := m.take(); n != 1 {
			t.Errorf("a sum and its norm are %v operations, want 1", n)
		}
		out := tape.SumAll(tape.Mul(sum, y))
		m.take()
		tape.Backward(out)
		if n := m.of[kernels.Cast]; n != 1 {
			t.Errorf("%d casts of gradients, want only the branch's own cast", n)
		}
	})
	w.Close()
}

// TestPositionsAreAddedWithTheNorm has each row of a batch get the same positions.
func TestPositionsAreAddedWithTheNorm(t *testing.T) {
	for name, test := range map[string]struct {
		positions []int
		want      int // operations for the sum and the norm
	}{
		"one for each row of a sample":        {[]int{3, 4}, 1},
		"one for all":                         {[]int{4}, 1},
		"one for each sample, not the last":   {[]int{2, 1, 4}, 3}, // it is stretched first
		"a number":                            {[]int{1}, 2},
		"more of them than of what they join": {[]int{5, 2, 3, 4}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tape, m := metered(t)
			full := func(shape ...int) *autograd.Variable {
				return autograd.NewVariable("x", tensor.Full(tape.Device(), shape, device.Float32, 1, tensor.Tag{}))
			}
			x, p, w := full(2, 3, 4), full(test.positions...), full(4)
			tape.Run(func() {
				tokens := tape.Scale(x.Value(), 1)
				positions := tape.Narrow(p.Value(), 0, 0, test.positions[0])
				m.take()
				y := tape.LayerNorm(tape.Add(tokens, positions), w.Value(), nil, eps)
				if n := m.take(); n != test.want {
					t.Errorf("a sum and its norm are %v operations, want %v", n, test.want)
				}
				tape.Backward(tape.SumAll(y))
				if fills := m.of[kernels.Fill]; fills != 1 { // the seed
					t.Errorf("the gradient of all positions took %d fills with zeros", fills-1)
				}
			})
			for _, v := range []*autograd.Variable{x, p, w} {
				v.Close()
			}
		})
	}
}

// TestASumThatWaitsIsThereForWhoeverReadsIt compares with a sum that a norm does
// not follow at once.
func TestASumThatWaitsIsThereForWhoeverReadsIt(t *testing.T) {
	type read func(tape *autograd.Tape, sum, norm func() *autograd.Value) []float64
	tests := map[string]read{
		"its data": func(_ *autograd.Tape, sum, _ func() *autograd.Value) []float64 { return sum().Data().Floats() },
		"its data, and a norm": func(_ *autograd.Tape, sum, norm func() *autograd.Value) []float64 {
			return append(sum().Data().Floats(), norm().Data().Floats()...)
		},
		"a norm, and its data": func(_ *autograd.Tape, sum, norm func() *autograd.Value) []float64 {
			y := norm()
			return append(y.Data().Floats(), sum().Data().Floats()...)
		},
		"another operation": func(tape *autograd.Tape, sum, _ func() *autograd.Value) []float64 {
			return tape.Scale(sum(), 3).Data().Floats()
		},
		"a view of it": func(tape *autograd.Tape, sum, _ func() *autograd.Value) []float64 {
			return tape.Scale(tape.Transpose(sum(), 0, 1), 3).Data().Floats()
		},
	}
	d := tensortest.Device(t)
	w := autograd.NewVariable("w", tensor.From(d, []float64{1, -2, 3, 0.5, 4, 9}, tensor.Shape{3, 2}, device.Float64, tensor.Tag{}))
	g := autograd.NewVariable("g", tensor.From(d, []float64{0.7, -1.1}, tensor.Shape{2}, device.Float64, tensor.Tag{}))
	defer w.Close()
	defer g.Close()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			values := func(waits bool) (got []float64) {
				tape := autograd.NewTape(d, 0)
				tape.Run(func() {
					x := tape.Add(tape.Scale(w.Value(), 2), tape.Scale(w.Value(), 0.3))
					if !waits {
						x.Data()
					}
					got = test(tape, func() *autograd.Value { return x }, func() *autograd.Value { return tape.LayerNorm(x, g.Value(), g.Value(), eps) })
				})
				return got
			}
			if got, want := values(true), values(false); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestALossWaitsForItsGradient compares a cross-entropy that the backward pass computes
// with one that was read, or used, before it.
func TestALossWaitsForItsGradient(t *testing.T) {
	tests := map[string]struct {
		use    func(tape *autograd.Tape, loss *autograd.Value) *autograd.Value // returns what the backward pass begins at
		before int                                                             // kernels before the backward pass; a loss is two
	}{
		"nothing reads it":          {func(_ *autograd.Tape, loss *autograd.Value) *autograd.Value { return loss }, 1},
		"its data is read":          {func(_ *autograd.Tape, loss *autograd.Value) *autograd.Value { loss.Data(); return loss }, 3},
		"an operation is between":   {func(tape *autograd.Tape, loss *autograd.Value) *autograd.Value { return tape.Scale(loss, 1) }, 4},
		"the tape measures its end": {func(tape *autograd.Tape, loss *autograd.Value) *autograd.Value { tape.Settle(); return loss }, 3},
	}
	step := func(tape *autograd.Tape, use func(*autograd.Tape, *autograd.Value) *autograd.Value, began func()) (loss, gradient []float64) {
		d := tape.Device()
		w := autograd.NewVariable("w", tensor.From(d, []float64{1, -2, 3, 0.5, 4, 9}, tensor.Shape{3, 2}, device.Float32, tensor.Tag{}))
		defer w.Close()
		targets := tensor.From(d, []float64{1, 0, 1}, tensor.Shape{3}, device.Int32, tensor.Tag{})
		tape.Run(func() {
			logits, of := tape.Scale(w.Value(), 2), tape.Take(targets)
			value := tape.CrossEntropy(logits, of)
			tape.Done(logits)
			from := use(tape, value)
			began()
			tape.Backward(from)
			loss, gradient = value.Data().Floats(), w.Grad().Floats()
		})
		return loss, gradient
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tape, m := metered(t)
			before := 0
			step(tape, test.use, func() { before = m.take() })
			if before != test.before {
				t.Errorf("%d operations before the backward pass, want %d", before, test.before)
			}
			d := tensortest.Device(t)
			loss, gradient := step(autograd.NewTape(d, 1), test.use, func() {})
			wantLoss, want := step(autograd.NewTape(d, 1), tests["its data is read"].use, func() {})
			if !slices.Equal(loss, wantLoss) || !slices.Equal(gradient, want) || loss[0] == 0 {
				t.Errorf("loss %v and gradient %v, want %v and %v", loss, gradient, wantLoss, want)
			}
		})
	}
}
