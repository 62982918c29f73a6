package tensor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// lazyGPU opens a GPU of a driver whose streams do nothing until something waits
// for them: a copy that is missed anywhere shows in the values. Freed memory is
// poisoned.
func lazyGPU(t *testing.T) *tensor.Device {
	t.Helper()
	library, err := hostbuild.Build(t.Context())
	if errors.Is(err, hostbuild.ErrNoCompiler) {
		t.Skip(err)
	}
	fatal.If(t, err)
	driver := cudatest.New(cudatest.Options{Run: cudatest.Kernels(library)})
	machine, err := cuda.Open(cuda.Options{Driver: driver})
	fatal.If(t, err)
	memory, err := alloc.New(machine, alloc.Options{Name: "cuda:0"})
	fatal.If(t, err)
	t.Cleanup(func() {
		memory.EmptyCache()
		fatal.If(t, machine.Close())
		if left := driver.Left(); left != nil {
			t.Errorf("left in the driver: %v", left)
		}
	})
	return tensor.NewDevice("cuda:0", memory, machine, tensor.Options{Poison: true})
}

// crosser does things with tensors of a device and its host at random, and knows
// what each of them holds: one number in every element.
type crosser struct {
	device  *tensor.Device
	random  *rand.Rand
	tensors []*tensor.Tensor
	holds   []float64
}

func (c *crosser) add(x *tensor.Tensor, value float64) {
	c.tensors, c.holds = append(c.tensors, x), append(c.holds, value)
}

func (c *crosser) drop(i int) {
	c.tensors[i].Release()
	c.tensors, c.holds = slices.Delete(c.tensors, i, i+1), slices.Delete(c.holds, i, i+1)
}

// step does one thing.
func (c *crosser) step(t *testing.T, n int) {
	t.Helper()
	places := []*tensor.Device{c.device, c.device.Host()}
	i := c.random.IntN(len(c.tensors))
	x, d := c.tensors[i], places[c.random.IntN(2)]
	switch c.random.IntN(6) {
	case 0:
		tag := tensor.Tag{Category: trace.Activation}
		c.add(tensor.Full(d, tensor.Shape{64 << c.random.IntN(6)}, device.Float32, float64(n), tag), float64(n))
	case 1:
		c.add(x.To(d), c.holds[i])
	case 2:
		c.holds[i] = float64(-n)
		for j, other := range c.tensors {
			if other.Storage() == x.Storage() {
				c.holds[j] = float64(-n)
			}
		}
		x.Fill(float64(-n))
	case 3:
		j := slices.IndexFunc(c.tensors, func(y *tensor.Tensor) bool { return y.Size() == x.Size() && y.Storage() != x.Storage() })
		if j >= 0 && !c.shared(j) {
			c.tensors[j].CopyFrom(x)
			c.holds[j] = c.holds[i]
		}
	case 4:
		c.check(t, i)
	default:
		if len(c.tensors) > 8 {
			c.drop(i)
		}
	}
}

// check reads a tensor, for which one queue of the device gets ahead of the other.
func (c *crosser) check(t *testing.T, i int) {
	t.Helper()
	for k, got := range c.tensors[i].Floats() {
		if got != c.holds[i] {
			t.Fatalf("element %d of a tensor of %s is %v, want %v", k, c.tensors[i].Device().Name(), got, c.holds[i])
		}
	}
}

// shared reports whether another handle is on the storage of a tensor.
func (c *crosser) shared(i int) bool {
	for j, other := range c.tensors {
		if j != i && other.Storage() == c.tensors[i].Storage() {
			return true
		}
	}
	return false
}

// TestCopiesToTheHostAndBackNeverRace does thousands of things in an order that
// only the seed decides and looks at every value.
func TestCopiesToTheHostAndBackNeverRace(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *tensor.Device{
		"a processor": func(t *testing.T) *tensor.Device { t.Helper(); return tensortest.Device(t) },
		"a GPU":       lazyGPU,
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			for seed := range uint64(8) {
				c := &crosser{device: d, random: rand.New(rand.NewPCG(seed, 1))}
				for range 4 {
					c.add(tensor.Full(d, tensor.Shape{1024}, device.Float32, 1, tensor.Tag{}), 1)
				}
				for n := range 400 {
					c.step(t, n)
				}
				for len(c.tensors) > 0 {
					c.check(t, 0)
					c.drop(0)
				}
				d.Land()
				if live, away := d.Live(), d.Host().Live(); live != 0 || away != 0 {
					t.Fatalf("seed %d: %d bytes are live on the device and %d on its host", seed, live, away)
				}
			}
		})
	}
}

// TestTensorsGoFromDeviceToDevice takes a view of a matrix through devices that do
// not know of each other.
func TestTensorsGoFromDeviceToDevice(t *testing.T) {
	a, b := tensortest.Device(t), tensortest.Device(t)
	x := counting(a, 2, 3)
	defer x.Release()
	x.Storage().Retag(trace.Gradient, "h.0", "grad")
	turned := x.Transpose(0, 1)
	defer turned.Release()
	at := turned
	for _, d := range []*tensor.Device{b, b.Host(), b.Host(), a.Host(), a} {
		at = at.To(d)
		defer at.Release()
		equal.Values(t, fmt.Sprintf("on %s", d.Name()), []float64{0, 3, 1, 4, 2, 5}, at.Floats())
		if label := at.Storage().Label(); at.Device() != d || label.Category != trace.Gradient || label.Layer != "h.0" || label.Role != "grad" {
			t.Errorf("it is on %s with the label %+v, want %s and the label that it had", at.Device().Name(), label, d.Name())
		}
	}
	if again := x.To(a); again.Storage() != x.Storage() {
		t.Error("a tensor that is there already was copied")
		again.Release()
	} else {
		again.Release()
	}
}
