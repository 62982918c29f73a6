package autograd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// program is a random straight line of operations on square values. Each reads
// what came before it, so that values are used once, often or never.
type program []instruction

type instruction struct {
	op   int
	a, b int // of the values so far
}

var instructions = []func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value{
	(*autograd.Tape).Add,
	(*autograd.Tape).Sub,
	(*autograd.Tape).Mul,
	(*autograd.Tape).MatMul,
	func(t *autograd.Tape, a, _ *autograd.Value) *autograd.Value { return t.GELU(a) },
	func(t *autograd.Tape, a, _ *autograd.Value) *autograd.Value { return t.Softmax(a) },
	func(t *autograd.Tape, a, _ *autograd.Value) *autograd.Value { return t.Transpose(a, 0, 1) },
	func(t *autograd.Tape, a, _ *autograd.Value) *autograd.Value { return t.Dropout(a, 0.25) },
	func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value { return t.Linear(a, b, nil) },
	func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value { return t.Add(a, t.Mean(b, 0, 0)) },
	func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value {
		return t.Concat(1, t.Narrow(a, 1, 0, 2), t.Narrow(b, 1, 1, 2))
	},
}

func randomProgram(random *rand.Rand, n int) program {
	p := make(program, n)
	for i := range p {
		p[i] = instruction{random.IntN(len(instructions)), random.IntN(i + 2), random.IntN(i + 2)}
	}
	return p
}

// run computes a part of the program on the values before it and returns the
// sum of all values after it, so that every one counts.
func (p program) run(t *autograd.Tape, values []*autograd.Value) *autograd.Value {
	values = slices.Clone(values)
	var sum *autograd.Value
	for _, i := range p {
		v := instructions[i.op](t, values[i.a%len(values)], values[i.b%len(values)])
		v = t.Softmax(v) // keeps numbers small
		values = append(values, v)
		if sum == nil {
			sum = v
		} else {
			sum = t.Add(sum, v)
		}
	}
	return sum
}

func TestRandomProgramsHaveRightGradientsAndLeaveNothing(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			p := randomProgram(random, 3+random.IntN(8))
			checkGradient(t, operation{
				shapes: []tensor.Shape{{4, 4}, {4, 4}},
				compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
					return t.Frame(func() *autograd.Value { return t.Add(p.run(t, v), t.Mul(v[0], v[1])) })
				},
			})
		})
	}
}

func TestRandomCheckpointsOfRandomProgramsGiveTheSameBits(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			parts := make([]program, 2+random.IntN(4))
			for i := range parts {
				parts[i] = randomProgram(random, 1+random.IntN(6))
			}
			want, wantGrad := runParts(t, parts, func(tape *autograd.Tape, _ int, f func([]*autograd.Value) *autograd.Value, in ...*autograd.Value) *autograd.Value {
				return tape.Frame(func() *autograd.Value { return f(in) })
			})
			got, gotGrad := runParts(t, parts, func(tape *autograd.Tape, i int, f func([]*autograd.Value) *autograd.Value, in ...*autograd.Value) *autograd.Value {
				switch (int(seed) + i) % 3 {
				case 0:
					return tape.Checkpoint(f, in...)
				case 1:
					keep := func(op, _ string) bool { return (len(op)+int(seed))%2 == 0 }
					return tape.SelectiveCheckpoint(keep, f, in...)
				}
				return f(in)
			})
			if got != want {
				t.Errorf("the result is %v, without checkpoints %v", got, want)
			}
			for i := range wantGrad {
				if diff := gotGrad[i] - wantGrad[i]; diff > 1e-12 || diff < -1e-12 {
					t.Errorf("element %d of the gradient is %v, without checkpoints %v", i, gotGrad[i], wantGrad[i])
				}
			}
		})
	}
}

type wrapper func(tape *autograd.Tape, i int, f func([]*autograd.Value) *autograd.Value, in ...*autograd.Value) *autograd.Value

// runParts chains programs through a wrapper, and returns the sum of the last
// result and the gradient of the variable that all of them read.
func runParts(t *testing.T, parts []program, wrap wrapper) (result float64, gradient []float64) {
	t.Helper()
	d := tensortest.Device(t)
	w := variable(d, rand.New(rand.NewPCG(3, 3)), tensor.Shape{4, 4}, 0, 0)
	defer w.Close()
	tape := autograd.NewTape(d, 5)
	tape.Run(func() {
		x := tape.Scale(w.Value(), 0.9)
		for i, p := range parts {
			y := wrap(tape, i, func(in []*autograd.Value) *autograd.Value {
				return p.run(tape, []*autograd.Value{in[0], w.Value()})
			}, x)
			tape.Done(x)
			x = y
		}
		out := tape.SumAll(weighted(tape, x))
		result = out.Data().Item()
		tape.Backward(out)
	})
	if g := w.Grad(); g.DType() == device.Float64 {
		gradient = g.Floats()
	}
	return result, gradient
}

func TestARecomputationIsAPhaseOfItsOwn(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	defer w.ZeroGrad()
	tape := autograd.NewTape(d, 0)
	var phases []autograd.Phase
	tape.Run(func() {
		tape.Backward(tape.Checkpoint(func(in []*autograd.Value) *autograd.Value {
			phases = append(phases, tape.Phase())
			tape.Mark(func() { phases = append(phases, tape.Phase()) })
			return tape.SumAll(tape.GELU(in[0]))
		}, w.Value()))
	})
	if want := []autograd.Phase{autograd.Forward, autograd.Recompute, autograd.Backward}; !slices.Equal(phases, want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
}
