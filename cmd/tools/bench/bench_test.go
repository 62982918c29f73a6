package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/tensor"
)

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

func TestTheEstimateIsNotMovedByOutliers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var list []float64
	for i := range 200 {
		x := 0.5 + 0.3*random.NormFloat64()
		if i%20 == 0 {
			x += 50 // a compiler ran on the machine
		}
		list = append(list, x)
	}
	mean, low, high := estimate(list)
	if mean < 0.4 || mean > 0.65 || low > 0.5 || high < 0.5 || high-low > 0.3 {
		t.Errorf("got %.3f between %.3f and %.3f, want 0.5", mean, low, high)
	}
}

// TestAStepLaunchesLittle holds a step of GPT-2 124M, as `make count-launches` has it,
// to what docs/performance.md and docs/proof.md say of it. All its products must be of
// the tensor cores, which take no odd sizes: the vocabulary is padded.
func TestAStepLaunchesLittle(t *testing.T) {
	for _, test := range []struct{ residual, want string }{
		{"full", "275 launches, 16.49 GB"},
		{"bf16", "277 launches, 12.85 GB"},
	} {
		t.Run("residual="+test.residual, func(t *testing.T) {
			var out strings.Builder
			o := &options{layers: 12, batch: 16, tokens: 1024, amp: "bf16", checkpoint: "none", residual: test.residual}
			all, err := countLaunches(t.Context(), o, &out)
			fatal.If(t, err)
			if got := fmt.Sprintf("%d launches, %.2f GB", all.times, all.moved/1e9); got != test.want {
				t.Errorf("%s, want %s\n%s", got, test.want, &out)
			}
			if text := out.String(); !strings.Contains(text, "tensor_bfloat") || strings.Contains(text, "matmul") {
				t.Errorf("products are of other kernels:\n%s", text)
			}
		})
	}
}

// TestAGPUHasAPaddedVocabulary compares the settings with memtrain's defaults.
func TestAGPUHasAPaddedVocabulary(t *testing.T) {
	for device, want := range map[string]bool{"cpu:0": false, "cuda:0": true, "cuda:1": true} {
		o := options{device: device, amp: "bf16", checkpoint: "none", residual: "full"}
		s, err := o.settings(o.onGPU())
		if err != nil || s.PadVocab != want {
			t.Errorf("%s: the vocabulary is padded: %v, %v; want %v", device, s.PadVocab, err, want)
		}
	}
}

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}

// passed is a backend that notes whether it was called.
type passed struct {
	dry.Backend
	updates int
}

func (p *passed) Update(device.UpdatePlan) { p.updates++ }

func TestOperationsArePassedOn(t *testing.T) {
	b := new(passed)
	m := MeterOf(b)
	m.Update(device.UpdatePlan{})
	if b.updates != 1 {
		t.Errorf("%d updates reached the backend, want 1", b.updates)
	}
	equal.Values(t, "operations", Ops{{Name: Update}: 1}, m.Take())
}

func TestOperationsAreNoted(t *testing.T) {
	half := device.Array{Addr: 1, Len: 100, DType: device.BFloat16}
	full := device.Array{Addr: 1, Len: 100}
	tests := map[string]struct {
		do   func(m *Meter)
		want Op
	}{
		"a sum": {
			func(m *Meter) { m.Binary(device.Sub, full, full, half) },
			Op{Name: Binary, Bytes: 1000},
		},
		"a change of type": {func(m *Meter) { m.Cast(half, full) }, Op{Name: Cast, Bytes: 600}},
		"an update of a list": {
			func(m *Meter) {
				m.Update(device.UpdatePlan{Update: device.Update{Rule: device.Lion, List: []device.Parameter{{P: full, G: half}, {P: full, M: full}}}})
			},
			Op{
				Name:  Update,
				Bytes: 2*400 + 200 + 2*400 + 2*400,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := MeterOf(dry.Backend{})
			test.do(m)
			test.do(m)
			equal.Values(t, "operations", Ops{test.want: 2}, m.Take())
			if len(m.Take()) != 0 {
				t.Error("what was taken is still noted")
			}
		})
	}
}

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
