package nn

import (
	"hash/fnv"
	"math"

	"memtop/engine/autograd"
	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
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

// Build runs construct with a builder and returns the model. When there is not
// enough memory for it, what was made is released and the error is a
// *tensor.Failure. dtype is the type of parameters: float32, or float64 for
// gradient checks.
func Build[M Module](d *tensor.Device, dtype device.DType, seed uint64, construct func(b Builder) M) (M, error) {
	var model M
	var made []*Param
	err := tensor.Try(func() {
		model = construct(Builder{device: d, dtype: dtype, seed: seed, made: &made})
	})
	if err != nil {
		for _, p := range made {
			p.Close()
		}
	}
	return model, err
}

// In returns a builder for the child with the given name.
func (b Builder) In(name string) Builder {
	b.path = join(b.path, name)
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

// FanIn is what PyTorch's Linear and Conv2d start from: evenly within
// ±1/√inputs, which is kaiming_uniform with a = √5.
func FanIn(inputs int) Init {
	return Uniform(1 / math.Sqrt(float64(inputs)))
}

// Param makes a parameter with a role such as "weight". Its random numbers
// depend on the seed and its name only.
func (b Builder) Param(role string, init Init, shape ...int) *Param {
	t := tensor.New(b.device, shape, b.dtype, tensor.Tag{Category: trace.Parameter, Layer: b.path, Role: role})
	name := join(b.path, role)
	p := autograd.NewVariable(name, t)
	*b.made = append(*b.made, p)
	if t.Size() > 0 {
		init(b.device.Backend(), t.Array(), device.Seed{Seed: b.seed ^ hash(name)})
	}
	return p
}

func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
