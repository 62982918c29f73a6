package nn_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
)

func TestParametersStartAsTheReferencesDo(t *testing.T) {
	d := tensortest.Device(t)
	tests := map[string]struct {
		build     func(b nn.Builder) nn.Module
		parameter int
		// Uniform values lie within ±bound; normal ones have the deviation.
		bound, deviation float64
		constant         bool
		value            float64
	}{
		"a linear weight, ±1/√in": {func(b nn.Builder) nn.Module { return nn.NewLinear(b, 64, 128, true) }, 0, 1.0 / 8, 0, false, 0},
		"a linear bias, ±1/√in":   {func(b nn.Builder) nn.Module { return nn.NewLinear(b, 64, 2048, true) }, 1, 1.0 / 8, 0, false, 0},
		"a kernel, ±1/√(in·size)": {func(b nn.Builder) nn.Module {
			return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 16, Width: 32, Layers: 1, Classes: 2})
		}, 0, 1.0 / 12, 0, false, 0},
		"GPT's tokens":            {gpt, 0, 0, 0.02, false, 0},
		"GPT's positions":         {gpt, 1, 0, 0.02, false, 0},
		"a normalisation's scale": {gpt, 2, 0, 0, true, 1},
		"a normalisation's shift": {gpt, 3, 0, 0, true, 0},
		"queries, keys, values":   {gpt, 4, 0, 0.02, false, 0},
		"their bias":              {gpt, 5, 0, 0, true, 0},
		"into the residual":       {gpt, 6, 0, 0.02 / math.Sqrt(8), false, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := nn.Build(d, device.Float32, 3, test.build)
			fatal.If(t, err)
			defer nn.Close(m)
			p := nn.Params(m)[test.parameter]
			low, high, deviation := moments(p.Data().Floats())
			n := math.Sqrt(float64(p.Data().Size()))
			switch {
			case test.constant:
				if low != test.value || high != test.value {
					t.Errorf("%s lies in [%v, %v], want %v", p.Name(), low, high, test.value)
				}
			case test.bound > 0:
				if low < -test.bound || high > test.bound || low > -0.98*test.bound || high < 0.98*test.bound {
					t.Errorf("%s lies in [%v, %v], want to fill ±%v", p.Name(), low, high, test.bound)
				}
			default:
				if math.Abs(deviation/test.deviation-1) > 3/n {
					t.Errorf("%s has deviation %v, want %v", p.Name(), deviation, test.deviation)
				}
			}
		})
	}
}

func gpt(b nn.Builder) nn.Module {
	return nn.NewGPT(b, nn.GPTConfig{Layers: 4, Dim: 64, Heads: 4, Context: 64, Vocab: 128, Bias: true})
}

// moments returns the extremes and the root mean square.
func moments(values []float64) (low, high, deviation float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high, deviation = min(low, v), max(high, v), deviation+v*v
	}
	return low, high, math.Sqrt(deviation / float64(len(values)))
}

func TestAModelThatDoesNotFitIsAnErrorAndLeavesNothing(t *testing.T) {
	d := tensortest.DeviceOf(t, 32<<20)
	_, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) nn.Module {
		return nn.NewMLP(b, nn.MLPConfig{In: 1024, Hidden: 1024, Out: 1024, Layers: 20})
	})
	var oom *alloc.OOMError
	if !errors.As(err, &oom) {
		t.Fatalf("got %v, want an *alloc.OOMError", err)
	}
	if d.Live() != 0 {
		t.Errorf("%d bytes are live, want 0", d.Live())
	}
}

// sized is a module that has a size, sizeless one that has none.
type (
	sized    struct{ *nn.Linear }
	sizeless struct{}
)

func (sizeless) Forward(_ *nn.Ctx, in ...*autograd.Value) *autograd.Value { return in[0] }
func (sizeless) Params() []*nn.Param                                      { return nil }
func (sizeless) Children() []nn.Child                                     { return nil }

// twins has two children of one name.
type twins struct{ a, b sized }

func (t *twins) Forward(_ *nn.Ctx, in ...*autograd.Value) *autograd.Value { return in[0] }
func (t *twins) Params() []*nn.Param                                      { return nil }
func (t *twins) Children() []nn.Child {
	return []nn.Child{{Name: "twin", Module: t.a}, {Name: "twin", Module: t.b}}
}

func TestPartsThatCannotBeToldApartAreAnErrorAndLeaveNothing(t *testing.T) {
	tests := map[string]struct {
		build func(b nn.Builder) nn.Module
		want  string
	}{
		"parameters of one name": {func(b nn.Builder) nn.Module {
			return nn.NewSequential(nn.NewLinear(b.In("a"), 2, 2, true), nn.NewLinear(b.In("a"), 2, 2, true))
		}, `two parameters are named "a.weight"`},
		"children of one name": {func(b nn.Builder) nn.Module {
			return &twins{sized{nn.NewLinear(b.In("a"), 2, 2, true)}, sized{nn.NewLinear(b.In("b"), 2, 2, true)}}
		}, `two modules are at "twin"`},
		"a module without size": {func(nn.Builder) nn.Module {
			return nn.NewSequential(&nn.GELU{}, sizeless{})
		}, `module "1", a sizeless, has no size`},
		"a pointer to one": {func(b nn.Builder) nn.Module {
			return nn.NewSequential(nn.NewLinear(b, 2, 2, true), &sizeless{})
		}, `module "1", a sizeless, has no size`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			_, err := nn.Build(d, device.Float32, 1, test.build)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something about %s", err, test.want)
			}
			if d.Live() != 0 {
				t.Errorf("%d bytes are live, want 0", d.Live())
			}
		})
	}
}

// shifted is a module with a parameter of its own and modules within.
type shifted struct {
	nn.Parts
	shift *nn.Param
}

func newShifted(b nn.Builder) *shifted {
	m := &shifted{Parts: nn.NewParts(b)}
	m.shift = m.Param("shift", nn.Uniform(1), 3)
	m.Linear("first", 3, 3)
	m.Linear("second", 3, 3)
	return m
}

func (m *shifted) Forward(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	return m.Chain(c, c.Add(in[0], m.shift.Value()))
}

func TestPartsAreNamedWhereTheyAreMade(t *testing.T) {
	model, err := nn.Build(tensortest.Device(t), device.Float32, 1, func(b nn.Builder) *nn.Sequential {
		return nn.NewSequential(newShifted(b.In("0")))
	})
	fatal.If(t, err)
	defer nn.Close(model)
	var parameters, paths []string
	for _, p := range nn.Params(model) {
		parameters = append(parameters, p.Name())
	}
	nn.Walk(model, func(path string, _ nn.Module) { paths = append(paths, path) })
	equal.Values(t, "parameters", []string{"0.shift", "0.first.weight", "0.first.bias", "0.second.weight", "0.second.bias"}, parameters)
	equal.Values(t, "modules", []string{"", "0", "0.first", "0.second"}, paths)
}
