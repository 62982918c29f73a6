package optim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// on places all state on a device.
func on(d *tensor.Device) Place { return func(*autograd.Variable) *tensor.Device { return d } }

// parameter makes a variable of n elements around 0.
func parameter(t *testing.T, d *tensor.Device, name string, dtype device.DType, values []float64) *autograd.Variable {
	t.Helper()
	tag := tensor.Tag{Category: trace.Parameter, Layer: "layer", Role: name}
	v := autograd.NewVariable(name, tensor.From(d, values, tensor.Shape{len(values)}, dtype, tag))
	t.Cleanup(v.Close)
	return v
}

// give sets the gradient of a variable by a backward pass: Σ v·g.
func give(d *tensor.Device, v *autograd.Variable, g []float64) {
	v.ZeroGrad()
	t := autograd.NewTape(d, 0)
	t.Run(func() {
		in := t.Take(tensor.From(d, g, v.Data().Shape(), v.Data().DType(), tensor.Tag{}))
		t.Backward(t.SumAll(t.Mul(v.Value(), in)))
	})
}

func random(r *rand.Rand, n int, scale float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(scale * r.NormFloat64()))
	}
	return x
}

// reference is each optimizer in plain arithmetic of float64.
type reference struct {
	s       Settings
	p, m, v []float64
	t       float64
}

func (r *reference) step(lr float64, g []float64) {
	r.t++
	s := r.s
	for i, g := range g {
		switch s.Kind {
		case SGD:
			g += s.WeightDecay * r.p[i]
			r.m[i] = s.Momentum*r.m[i] + g
			if s.Nesterov {
				r.p[i] -= lr * (g + s.Momentum*r.m[i])
			} else {
				r.p[i] -= lr * r.m[i]
			}
		case Lion:
			r.p[i] -= lr * (sign(s.Beta1*r.m[i]+(1-s.Beta1)*g) + s.WeightDecay*r.p[i])
			r.m[i] = s.Beta2*r.m[i] + (1-s.Beta2)*g
		default:
			if s.Kind == Adam {
				g += s.WeightDecay * r.p[i]
			} else {
				r.p[i] -= lr * s.WeightDecay * r.p[i]
			}
			r.m[i] = s.Beta1*r.m[i] + (1-s.Beta1)*g
			r.v[i] = s.Beta2*r.v[i] + (1-s.Beta2)*g*g
			m, v := r.m[i]/(1-math.Pow(s.Beta1, r.t)), r.v[i]/(1-math.Pow(s.Beta2, r.t))
			r.p[i] -= lr * m / (math.Sqrt(v) + s.Eps)
		}
	}
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func TestUpdatesEqualTheReference(t *testing.T) {
	with := func(k Kind, change func(*Settings)) Settings {
		s := Defaults(k)
		change(&s)
		return s
	}
	tests := map[string]struct {
		settings  Settings
		n         int
		tolerance float64 // of a parameter around 1, after 20 steps of lr 0.01
	}{
		"sgd with momentum":                  {Defaults(SGD), 1003, 1e-6},
		"sgd without momentum":               {with(SGD, func(s *Settings) { s.Momentum = 0 }), 1003, 1e-6},
		"sgd with Nesterov and weight decay": {with(SGD, func(s *Settings) { s.Nesterov, s.WeightDecay = true, 0.1 }), 1003, 1e-6},
		"adam":                               {Defaults(Adam), 1003, 2e-6},
		"adam with weight decay":             {with(Adam, func(s *Settings) { s.WeightDecay = 0.1 }), 1003, 2e-6},
		"adamw":                              {Defaults(AdamW), 1003, 2e-6},
		"adamw with much decay":              {with(AdamW, func(s *Settings) { s.WeightDecay = 0.5 }), 1003, 2e-6},
		"lion":                               {with(Lion, func(s *Settings) { s.WeightDecay = 0.1 }), 1003, 2e-6},
		"adamw8bit of a small tensor":        {Defaults(AdamW8bit), 1003, 2e-6},
		"adamw8bit of a large tensor":        {Defaults(AdamW8bit), 8192, 0.05},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, r := tensortest.Device(t), rand.New(rand.NewPCG(1, 2))
			start := random(r, test.n, 1)
			v := parameter(t, d, "w", device.Float32, start)
			o := New(on(d), []*autograd.Variable{v}, test.settings)
			defer o.Close()
			want := &reference{s: test.settings, p: slices.Clone(start), m: make([]float64, test.n), v: make([]float64, test.n)}
			for range 20 {
				g := random(r, test.n, 0.1)
				give(d, v, g)
				want.step(0.01, g)
				if !o.Step(0.01, nil, nil, nil)() {
					t.Fatal("the step was skipped")
				}
			}
			closeTo(t, v.Data().Floats(), want.p, test.tolerance)
		})
	}
}

func closeTo(t *testing.T, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if diff := math.Abs(got[i] - want[i]); !(diff <= tolerance) {
			t.Fatalf("element %d is %v, want %v: off by %.3g, more than %.3g", i, got[i], want[i], diff, tolerance)
		}
	}
}

func TestStateBytesPerParameter(t *testing.T) {
	large, small := 64*1024, 1000
	tests := map[string]struct {
		kind  Kind
		want  int64 // for the large and the small tensor
		roles []string
	}{
		"sgd":   {SGD, 4 * int64(large+small), []string{"momentum_buffer", "momentum_buffer"}},
		"adam":  {Adam, 8 * int64(large+small), []string{"exp_avg", "exp_avg_sq", "exp_avg", "exp_avg_sq"}},
		"adamw": {AdamW, 8 * int64(large+small), []string{"exp_avg", "exp_avg_sq", "exp_avg", "exp_avg_sq"}},
		"lion":  {Lion, 4 * int64(large+small), []string{"exp_avg", "exp_avg"}},
		"adamw8bit": {
			AdamW8bit, 2*int64(large) + 2*4*int64(large/256) + 8*int64(small),
			[]string{"exp_avg", "exp_avg absmax", "exp_avg_sq", "exp_avg_sq absmax", "exp_avg", "exp_avg_sq"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			parameters := []*autograd.Variable{
				parameter(t, d, "large", device.Float32, make([]float64, large)),
				parameter(t, d, "small", device.Float32, make([]float64, small)),
			}
			o := New(on(d), parameters, Defaults(test.kind))
			defer o.Close()
			for _, v := range parameters {
				give(d, v, make([]float64, v.Data().Size()))
			}
			for range 2 { // the same before and after a step
				stats := d.Memory().Stats()
				if got := stats.Category[trace.Optimizer].Current; got != test.want {
					t.Errorf("%d bytes of optimizer state in the allocator, want %d", got, test.want)
				}
				o.Step(0.1, nil, nil, nil)
			}
			var roles []string
			for _, state := range o.State() {
				roles = append(roles, state.Role)
			}
			equal.Values(t, "roles", test.roles, roles)
		})
	}
}

func TestHalfPrecisionHasAMasterCopy(t *testing.T) {
	for _, dtype := range []device.DType{device.BFloat16, device.Float16} {
		t.Run(dtype.String(), func(t *testing.T) {
			d := tensortest.Device(t)
			v := parameter(t, d, "w", dtype, []float64{1, -2, 4})
			s := Defaults(SGD)
			o := New(on(d), []*autograd.Variable{v}, s)
			defer o.Close()
			// Steps that are too small for half precision by themselves add up.
			for range 100 {
				give(d, v, []float64{1, 1, 1})
				o.Step(1e-5, nil, nil, nil)
			}
			if got := o.State()[0]; got.Role != "master" || got.Data.DType() != device.Float32 {
				t.Fatalf("the first state is %s %v, want the master in float32", got.Role, got.Data)
			}
			got := o.State()[0].Data.Floats()
			want := &reference{s: s, p: []float64{1, -2, 4}, m: make([]float64, 3), v: make([]float64, 3)}
			for range 100 {
				want.step(1e-5, []float64{1, 1, 1})
			}
			closeTo(t, got, want.p, 1e-5)
			closeTo(t, v.Data().Floats(), want.p, 0.02)
			if v.Data().Floats()[0] == 1 {
				t.Error("the parameter did not follow its master copy")
			}
		})
	}
}

// TestHalfPrecisionWithoutMainCopies compares with the reference rounded after every
// step, and with main copies: small steps are lost without them.
func TestHalfPrecisionWithoutMainCopies(t *testing.T) {
	defer func(n int) { lowChunk = n }(lowChunk)
	lowChunk = 2 * device.QuantBlock
	round := func(x []float64) {
		for i := range x {
			x[i] = float64(device.BFloat16ToFloat32(device.Float32ToBFloat16(float32(x[i]))))
		}
	}
	const n, lr, steps = 5000, 1e-2, 3
	for _, kind := range Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			d, r := tensortest.Device(t), rand.New(rand.NewPCG(3, 4))
			s := Defaults(kind)
			s.NoMainCopies = true
			start := random(r, n, 1)
			round(start)
			v := parameter(t, d, "p", device.BFloat16, start)
			o := New(on(d), []*autograd.Variable{v}, s)
			defer o.Close()
			want := int64(2 * n) // a moment
			if kind == AdamW8bit {
				want = 2 * (n + 4*20) // bytes, and a scale for each block
			} else if kind != SGD && kind != Lion {
				want *= 2
			}
			if got := bytesOf(o); got != want {
				t.Errorf("%d bytes of state, want %d", got, want)
			}
			ref := reference{s: s, p: slices.Clone(start), m: make([]float64, n), v: make([]float64, n)}
			for range steps {
				g := random(r, n, 1)
				round(g)
				give(d, v, g)
				o.Step(lr, nil, nil, nil)
				ref.step(lr, g)
				round(ref.p)
				if kind != AdamW8bit {
					round(ref.m)
					round(ref.v)
				}
			}
			tolerance := 0.02 // of 3 steps of 1e-2 each, in numbers with 8 bits
			closeTo(t, v.Data().Floats(), ref.p, tolerance)
		})
	}
}

func bytesOf(o *Optimizer) (sum int64) {
	for _, s := range o.State() {
		sum += s.Data.Bytes()
	}
	return sum
}

func TestMainCopiesComeAndGo(t *testing.T) {
	d := tensortest.Device(t)
	v := parameter(t, d, "p", device.BFloat16, make([]float64, 64))
	whole := parameter(t, d, "q", device.Float32, make([]float64, 64))
	for name, test := range map[string]struct {
		v         *autograd.Variable
		on, off   int64
		freshness bool
	}{
		"of half precision":  {v, 64 * (4 + 4 + 4), 64 * (2 + 2), true},
		"float32 is its own": {whole, 64 * (4 + 4), 64 * (4 + 4), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Defaults(AdamW)
			o := New(on(d), []*autograd.Variable{test.v}, s)
			defer o.Close()
			give(d, test.v, make([]float64, 64))
			o.Step(1e-3, nil, nil, nil)
			for _, off := range []bool{true, false} {
				s.NoMainCopies = off
				o.Change(s)
				want := test.on
				if off {
					want = test.off
				}
				if got := bytesOf(o); got != want {
					t.Errorf("main copies off %v: %d bytes, want %d", off, got, want)
				}
			}
			if fresh := o.Steps() == 0; fresh != test.freshness {
				t.Errorf("the state is fresh: %v, want %v", fresh, test.freshness)
			}
		})
	}
}

func TestChangingTheOptimizer(t *testing.T) {
	tests := map[string]struct {
		from, to Kind
		kept     bool
		bytes    int64 // of state in the end
	}{
		"adam and adamw share their state": {Adam, AdamW, true, 8 * 5000},
		"adamw to eight bits":              {AdamW, AdamW8bit, false, 2 * (5000 + 4*20)},
		"eight bits to sgd":                {AdamW8bit, SGD, false, 4 * 5000},
		"a momentum is not an average":     {SGD, Lion, false, 4 * 5000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, r := tensortest.Device(t), rand.New(rand.NewPCG(1, 2))
			v := parameter(t, d, "w", device.Float32, random(r, 5000, 1))
			o := New(on(d), []*autograd.Variable{v}, Defaults(test.from))
			defer o.Close()
			give(d, v, random(r, 5000, 1))
			o.Step(0.1, nil, nil, nil)
			o.Change(Defaults(test.to))
			if got := d.Memory().Stats().Category[trace.Optimizer].Current; got != test.bytes {
				t.Errorf("%d bytes of state, want %d", got, test.bytes)
			}
			if kept := o.Steps() == 1; kept != test.kept {
				t.Errorf("state kept: %v, want %v", kept, test.kept)
			}
			o.Step(0.1, nil, nil, nil)
		})
	}
}

// mark is an overflow that the test decides about.
type mark struct{ found *tensor.Tensor }

func (m mark) FoundInf() *tensor.Tensor { return m.found }

func (m mark) Overflowed() *tensor.Pending { return m.found.Fetch() }

func TestAStepIsClippedOrSkipped(t *testing.T) {
	tests := map[string]struct {
		limit    float64
		overflow float64 // not 0 if there was one
		want     float64 // factor of the gradients
	}{
		"longer than the limit":  {1, 0, 1 / (5 + 1e-6)},
		"shorter than the limit": {10, 0, 1},
		"with an overflow":       {10, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			a := parameter(t, d, "a", device.Float32, []float64{0, 0})
			b := parameter(t, d, "b", device.Float32, []float64{0})
			none := parameter(t, d, "none", device.Float32, []float64{0})
			give(d, a, []float64{3, 0})
			give(d, b, []float64{-4})
			all := []*autograd.Variable{a, b, none}
			clip := Clip(d, all, test.limit)
			defer clip.Release()
			closeTo(t, []float64{clip.norm.Fetch().Wait()}, []float64{5}, 1e-6)
			o := New(on(d), all, Settings{Kind: SGD})
			defer o.Close()
			found := tensor.Full(d, tensor.Shape{1}, device.Float32, test.overflow, tensor.Tag{})
			defer found.Release()
			done := o.Step(1, mark{found}, clip, nil)()
			if took := o.Steps() == 1; done != took || took != (test.want != 0) {
				t.Errorf("the step is done: %v, and counted: %v", done, took)
			}
			got := append(a.Data().Floats(), b.Data().Floats()...)
			closeTo(t, got, []float64{-3 * test.want, 0, 4 * test.want}, 1e-6)
		})
	}
}

func TestSchedules(t *testing.T) {
	tests := map[string]struct {
		text string
		want map[int]float64 // factor by step, of 110
	}{
		"constant":            {"constant", map[int]float64{0: 1, 50: 1, 1000: 1}},
		"constant, warmed up": {"constant,warmup=10", map[int]float64{0: 0.1, 4: 0.5, 9: 1, 10: 1, 200: 1}},
		"cosine":              {"cosine", map[int]float64{0: 1, 55: 0.5, 110: 0, 500: 0}},
		"cosine, warmed up":   {"cosine,warmup=10,floor=0.1", map[int]float64{0: 0.1, 9: 1, 10: 1, 60: 0.55, 110: 0.1, 111: 0.1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSchedule(test.text, 110)
			fatal.If(t, err)
			if s.String() != test.text {
				t.Errorf("it prints as %q, want %q", s, test.text)
			}
			for step, want := range test.want {
				if got := s.Factor(step); math.Abs(got-want) > 1e-12 {
					t.Errorf("step %d: factor %v, want %v", step, got, want)
				}
			}
		})
	}
	for _, text := range []string{"", "linear", "cosine,warmup=x", "cosine,warmup=-1", "cosine,floor=2", "cosine,floor=NaN", "constant,steps=1"} {
		t.Run(fmt.Sprintf("%q is refused", text), func(t *testing.T) {
			if s, err := ParseSchedule(text, 10); err == nil {
				t.Errorf("got %v, want an error", s)
			}
		})
	}
}
