package nn

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Builder makes the parameters of a model. It is a value: [Builder.In] returns
// another one that names things within a child.
type Builder struct {
	device *tensor.Device
	dtype  device.DType
	seed   uint64
	path   string
	made   *[]*Param
}

// Maker returns a function for train.Config.Build: it builds the model in float32
// on any device, always with the same weights.
func Maker[M Module](seed uint64, construct func(b Builder) M) func(d *tensor.Device) (Module, error) {
	return func(d *tensor.Device) (Module, error) { return Build(d, device.Float32, seed, construct) }
}

// Build runs construct with a builder and returns the model. If there is not
// enough memory, the error is a *tensor.Failure. If two parts of the model cannot
// be told apart, the error names them. On either error Build releases everything
// that it made. dtype is the type of parameters: float32, or float64 for gradient
// checks.
func Build[M Module](d *tensor.Device, dtype device.DType, seed uint64, construct func(b Builder) M) (M, error) {
	var model M
	var made []*Param
	err := tensor.Try(func() {
		model = construct(Builder{device: d, dtype: dtype, seed: seed, made: &made})
	})
	if err == nil {
		err = distinct(model, made)
	}
	if err != nil {
		for _, p := range made {
			p.Close()
		}
	}
	return model, err
}

// distinct checks that no two parameters share a name, because their first values
// depend on it. It also checks that no two modules share a path, which names the
// layer, or an address, which identifies the module.
func distinct(model Module, made []*Param) error {
	names := make(map[string]bool, len(made))
	for _, p := range made {
		if names[p.Name()] {
			return fmt.Errorf("nn: two parameters are named %q; give each module a name with Builder.In", p.Name())
		}
		names[p.Name()] = true
	}
	var err error
	paths := make(map[string]bool)
	Walk(model, func(path string, m Module) {
		switch {
		case paths[path]:
			err = fmt.Errorf("nn: two modules are at %q; give each child a name of its own", path)
		case empty(m):
			err = fmt.Errorf("nn: module %q, a %s, has no size, and Go may put another one at its address; give it a field", path, class(m))
		}
		paths[path] = true
	})
	return err
}

// empty reports whether a module is a value without size, or points to one.
func empty(m Module) bool {
	t := reflect.TypeOf(m)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Size() == 0
}

// In returns a builder for the child with the given name.
func (b Builder) In(name string) Builder {
	b.path = Join(b.path, name)
	return b
}

// Init sets the first values of a parameter.
type Init func(backend device.Backend, a device.Array, s device.Seed)

// Constant sets every element to one value.
func Constant(value float64) Init {
	return func(b device.Backend, a device.Array, _ device.Seed) { b.Fill(a, value) }
}

// Normal draws from the normal distribution with mean 0.
func Normal(std float64) Init {
	return func(b device.Backend, a device.Array, s device.Seed) { b.Normal(a, 0, std, s) }
}

// Uniform draws evenly from [-bound, bound).
func Uniform(bound float64) Init {
	return func(b device.Backend, a device.Array, s device.Seed) { b.Uniform(a, -bound, bound, s) }
}

// FanIn draws first values as PyTorch's Linear and Conv2d do: evenly within
// ±1/√inputs, which is kaiming_uniform with a = √5.
func FanIn(inputs int) Init {
	return Uniform(1 / math.Sqrt(float64(inputs)))
}

// Param makes a parameter with a role such as "weight". Its random numbers
// depend on the seed and its name only.
func (b Builder) Param(role string, init Init, shape ...int) *Param {
	t := tensor.New(b.device.Whole(), shape, b.dtype, tensor.Tag{Category: trace.Parameter, Layer: b.path, Role: role})
	name := Join(b.path, role)
	p := autograd.NewVariable(name, t)
	*b.made = append(*b.made, p)
	if t.Size() > 0 {
		init(b.device.Backend(), t.Array(), device.Seed{Seed: b.seed ^ hash(name)})
	}
	p.Move(b.device)
	return p
}

// Buffer makes a tensor that has no gradient, with the given elements. See [Buffered].
func (b Builder) Buffer(role string, values []float64, shape ...int) *Param {
	t := tensor.From(b.device, values, shape, b.dtype, tensor.Tag{Category: trace.Parameter, Layer: b.path, Role: role})
	p := autograd.NewVariable(Join(b.path, role), t)
	p.SetFrozen(true)
	*b.made = append(*b.made, p)
	return p
}

func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
