package train

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Leak is a mistake that the trainer makes on purpose in every step, to show how
// a leak looks and to test that it is found.
type Leak uint8

// The mistakes.
const (
	NoLeak          Leak = iota
	LeakActivations      // the result of a layer is kept for a statistic that is never read
	LeakCache            // a cache gets one more entry and never loses any
	LeakGradients        // a gradient is remembered when gradients are dropped
	LeakHandle           // a copy of the inputs is never released, and cannot be reached any more
)

var leakNames = []string{"", "activations", "cache", "gradients", "handle"}

// String returns the name that ParseLeak takes.
func (l Leak) String() string { return leakNames[l] }

// ParseLeak reads "activations", "cache", "gradients" or "handle". An empty text
// is no leak.
func ParseLeak(name string) (Leak, error) {
	if i := slices.Index(leakNames, name); i >= 0 {
		return Leak(i), nil
	}
	return 0, fmt.Errorf("leak %q: want activations, cache, gradients or handle", name)
}

// leaks holds everything that planted mistakes have kept so far.
type leaks struct {
	answers   []*tensor.Tensor
	cache     map[int64]*tensor.Tensor
	gradients []*tensor.Tensor
}

// cacheEntry is the number of elements of an entry of the leaking cache.
const cacheEntry = 4096

// Plant makes a mistake part of every step from now on. Close releases the memory
// that it keeps, except for lost handles, which cannot be reached.
func (t *Trainer) Plant(l Leak) {
	switch l {
	case LeakActivations:
		t.ctx.AddHooks(nn.Hooks{Post: t.keepAnswer})
	case LeakCache:
		t.leaks.cache = make(map[int64]*tensor.Tensor)
		t.onStep = t.fillCache
	case LeakGradients:
		t.parameters[0].OnGrad(t.keepGradient)
	case LeakHandle:
		t.onStep = t.loseHandle
	case NoLeak:
	}
}

// keepAnswer keeps the model's result, which is the largest there is.
func (t *Trainer) keepAnswer(c *nn.Ctx, l *nn.Layer, _ []*autograd.Value, out *autograd.Value) {
	if l.Module == t.config.Model && c.Phase() == autograd.Forward {
		t.leaks.answers = append(t.leaks.answers, out.Data().Retain())
	}
}

// fillCache looks something up under a key that is new every time.
func (t *Trainer) fillCache() {
	key := t.step
	if t.leaks.cache[key] == nil {
		tag := tensor.Tag{Category: trace.Workspace, Layer: "positions", Role: "cached table"}
		t.leaks.cache[key] = tensor.Full(t.config.Device, tensor.Shape{cacheEntry}, device.Float32, float64(key), tag)
	}
}

// keepGradient keeps the gradient of a parameter, to compare it with the next.
func (t *Trainer) keepGradient(v *autograd.Variable) {
	t.leaks.gradients = append(t.leaks.gradients, v.Grad().Retain())
}

// loseHandle copies the inputs and forgets to release the copy.
func (t *Trainer) loseHandle() {
	tensor.Clone(t.input, tensor.Tag{Category: trace.Input, Layer: "data", Role: "copy of the input"})
}

func (l *leaks) release() {
	for _, list := range [][]*tensor.Tensor{l.answers, l.gradients} {
		for _, x := range list {
			x.Release()
		}
	}
	for _, x := range l.cache {
		x.Release()
	}
	*l = leaks{}
}
