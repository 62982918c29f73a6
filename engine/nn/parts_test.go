package nn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
)

// shifted is a module with a parameter of its own and modules within.
type shifted struct {
	nn.Parts
	shift *nn.Param
}

func newShifted(b nn.Builder) *shifted {
	m := &shifted{Parts: nn.NewParts(b)}
	m.shift = m.Param("shift", nn.Uniform(1), 3)
	nn.Part(&m.Parts, "first", func(b nn.Builder) *nn.Linear { return nn.NewLinear(b, 3, 3, false) })
	nn.Part(&m.Parts, "second", func(nn.Builder) *nn.GELU { return &nn.GELU{} })
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
	if diff := cmp.Diff([]string{"0.shift", "0.first.weight"}, parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "0", "0.first", "0.second"}, paths); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
}
