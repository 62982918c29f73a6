package nn_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/tensor/tensortest"
)

// skip is a module that uses the input of its activation afterwards: x + relu(x)
// of x that a Linear made.
type skip struct {
	Linear *nn.Linear
	Act    *nn.ReLU
}

func (s *skip) Params() []*nn.Param { return nil }
func (s *skip) Children() []nn.Child {
	return []nn.Child{{Name: "linear", Module: s.Linear}, {Name: "act", Module: s.Act}}
}

func (s *skip) Forward(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	x := c.Call(s.Linear, in[0])
	return c.Add(x, c.Call(s.Act, x))
}

// activations is a model with an activation of every kind in every situation.
func activations(b nn.Builder) nn.Module {
	linear := func(name string) *nn.Linear { return nn.NewLinear(b.In(name), 8, 8, true) }
	return nn.NewSequential(
		&nn.ReLU{},              // 0: of the model's input
		linear("1"), &nn.ReLU{}, // 2
		&nn.ReLU{},              // 3: of what the one before has saved
		linear("4"), &nn.GELU{}, // 5
		linear("6"), &nn.Dropout{P: 0.5}, // 7
		nn.NewBlocks(&skip{linear("8.0.linear"), &nn.ReLU{}}),
		linear("9"), &nn.Softmax{}, &nn.Dropout{P: 0.5}, // 11: of what softmax has saved
		linear("12"), &nn.Flatten{}, &nn.ReLU{}, // 14: of a view
	)
}

// run is what a step of the model came to.
type outcome struct {
	Loss      float64
	Gradients map[string][]float64
}

// activated takes a step and returns what came of it, which activations were in
// place, and why others were not.
func activated(t *testing.T, o nn.Options) (got outcome, inPlace, copies map[string]string) {
	t.Helper()
	d := tensortest.Device(t)
	m, err := nn.Build(d, device.Float32, 1, activations)
	if err != nil {
		t.Fatal(err)
	}
	defer nn.Close(m)
	x := tensor.New(d, tensor.Shape{4, 8}, device.Float32, tensor.Tag{})
	defer x.Release()
	d.Backend().Normal(x.Array(), 0, 1, device.Seed{Seed: 5})
	given := x.Floats()
	tape := autograd.NewTape(d, 1)
	c := nn.NewCtx(tape, o)
	tape.Run(func() {
		loss := tape.MeanAll(tape.Unary(device.Square, c.Call(m, tape.Take(x.Retain()))))
		got.Loss = loss.Data().Floats()[0]
		tape.Backward(loss)
	})
	if !cmp.Equal(given, x.Floats()) {
		t.Error("the model's input was overwritten")
	}
	got.Gradients = make(map[string][]float64)
	for _, p := range nn.Params(m) {
		got.Gradients[p.Name()] = p.Grad().Floats()
	}
	inPlace, copies = make(map[string]string), make(map[string]string)
	for _, l := range c.Layers() {
		switch {
		case l.InPlace:
			inPlace[l.Name] = l.Class
		case l.Copies != "":
			copies[l.Name] = l.Copies
		}
	}
	return got, inPlace, copies
}

func TestActivationsWorkInPlaceWhereThatIsSafe(t *testing.T) {
	want, none, _ := activated(t, nn.Options{Training: true})
	if len(none) > 0 {
		t.Errorf("%v worked in place unasked", none)
	}
	got, inPlace, copies := activated(t, nn.Options{Training: true, InPlace: true})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in place (-without +with):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"2": "ReLU", "7": "Dropout"}, inPlace); diff != "" {
		t.Errorf("in place (-want +got):\n%s", diff)
	}
	const used, kept = "what it is given has other uses", "what it is given is kept for another operation"
	if diff := cmp.Diff(map[string]string{
		"0": used, "3": kept, "5": "its backward pass reads what it is given", "8.0.act": used, "11": kept, "14": kept,
	}, copies); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// TestLossesAreBitEqualInPlace crosses in-place activations with checkpoints.
func TestLossesAreBitEqualInPlace(t *testing.T) {
	g := small
	g.Dropout = 0.1
	losses := make(map[string][]float64)
	all := policies(t)
	all["the activations kept"] = nn.Selective("gelu_tanh", "dropout")
	for name, p := range maps.All(all) {
		r := newTrainer(t, g, nn.Options{Checkpoint: p, Attention: nn.FlashAttention, InPlace: true})
		for range 3 {
			losses[name] = append(losses[name], r.step())
		}
	}
	r := newTrainer(t, g, nn.Options{Attention: nn.FlashAttention})
	var want []float64
	for range 3 {
		want = append(want, r.step())
	}
	for name, got := range losses {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("losses of %s (-without +in place):\n%s", name, diff)
		}
	}
}
