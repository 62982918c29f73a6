package main

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/tensor"
)

// TestRatesAreThoseOfRandomNumbers looks at what the products are of.
func TestRatesAreThoseOfRandomNumbers(t *testing.T) {
	c, err := cpu.Open(cpu.Options{Capacity: 64 << 20})
	fatal.If(t, err)
	defer c.Close() //nolint:errcheck // the test ends
	a, err := alloc.New(c, alloc.Options{})
	fatal.If(t, err)
	m := &multiplied{Backend: c}
	rateOf(tensor.NewDevice("cpu:0", a, m, tensor.Options{}), 32, device.Float32)
	if m.products == 0 || m.lowest == m.highest {
		t.Errorf("%d products of numbers from %v to %v", m.products, m.lowest, m.highest)
	}
}

// multiplied is a backend that looks at what it multiplies.
type multiplied struct {
	device.Backend
	products        int
	lowest, highest float32
}

func (m *multiplied) MatMul(p device.MatMulPlan) {
	m.products++
	var first [8]float32
	_ = m.Download(unsafe.Slice((*byte)(unsafe.Pointer(&first[0])), unsafe.Sizeof(first)), p.A.Buffer()) // cpu:0 cannot fail
	m.lowest, m.highest = slices.Min(first[:]), slices.Max(first[:])
}

type answer struct{ err error }

func (a answer) Library() (string, error) { return "", a.err }

func TestTheLibraryIsMeasuredOrNothing(t *testing.T) {
	none := errors.New("there is no cuBLASLt")
	for name, test := range map[string]struct {
		library bool
		found   error
		want    error
	}{
		"wanted and there":     {true, nil, nil},
		"wanted and not there": {true, none, none},
		"not wanted":           {false, none, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := options{library: test.library}
			if err := o.checkProducts(answer{test.found}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
