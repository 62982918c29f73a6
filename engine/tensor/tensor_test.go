package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/tensor"
)

func counting(d *tensor.Device, shape ...int) *tensor.Tensor {
	s := tensor.Shape(shape)
	values := make([]float32, s.Size())
	for i := range values {
		values[i] = float32(i)
	}
	return tensor.From(d, values, s, device.Float32, tensor.Tag{})
}

func TestViewsShowTheRightElements(t *testing.T) {
	tests := map[string]struct {
		shape []int
		view  func(x *tensor.Tensor) *tensor.Tensor
		want  []float64
	}{
		"a transposed matrix": {
			[]int{2, 3},
			func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(0, 1) },
			[]float64{0, 3, 1, 4, 2, 5},
		},
		"two columns of a matrix": {
			[]int{2, 3},
			func(x *tensor.Tensor) *tensor.Tensor { return x.Narrow(1, 1, 2) },
			[]float64{1, 2, 4, 5},
		},
		"a column repeated": {
			[]int{2, 1},
			func(x *tensor.Tensor) *tensor.Tensor { return x.Expand(tensor.Shape{2, 3}) },
			[]float64{0, 0, 0, 1, 1, 1},
		},
		"a row repeated under a new dimension": {
			[]int{3},
			func(x *tensor.Tensor) *tensor.Tensor { return x.Expand(tensor.Shape{2, 3}) },
			[]float64{0, 1, 2, 0, 1, 2},
		},
		"another shape with one extent left out": {
			[]int{2, 3},
			func(x *tensor.Tensor) *tensor.Tensor { return x.View(-1, 2) },
			[]float64{0, 1, 2, 3, 4, 5},
		},
		"three dimensions turned": {
			[]int{1, 2, 3},
			func(x *tensor.Tensor) *tensor.Tensor { return x.Permute(2, 0, 1) },
			[]float64{0, 3, 1, 4, 2, 5},
		},
		"a view of a view": {[]int{2, 4}, func(x *tensor.Tensor) *tensor.Tensor {
			half := x.Narrow(1, 2, 2)
			defer half.Release()
			return half.Transpose(0, 1)
		}, []float64{2, 6, 3, 7}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := counting(tensortest.Device(t), test.shape...)
			defer x.Release()
			v := test.view(x)
			defer v.Release()
			equal.Values(t, fmt.Sprintf("elements of %v", v), test.want, v.Floats())
			if v.Storage() != x.Storage() {
				t.Error("the view has memory of its own")
			}
		})
	}
}

func TestViewsOfViewsAreFoundWhereTheStridesAllowThem(t *testing.T) {
	tests := map[string]struct {
		view func(x *tensor.Tensor) *tensor.Tensor // of [2, 3, 4]
		as   tensor.Shape
		want bool
	}{
		"rows of a narrowed matrix split":          {func(x *tensor.Tensor) *tensor.Tensor { return x.Narrow(2, 0, 2) }, tensor.Shape{6, 2}, true},
		"the narrowed dimension does not join":     {func(x *tensor.Tensor) *tensor.Tensor { return x.Narrow(2, 0, 2) }, tensor.Shape{12}, false},
		"a transposed pair does not join":          {func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(1, 2) }, tensor.Shape{24}, false},
		"a transposed pair may be split elsewhere": {func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(1, 2) }, tensor.Shape{2, 2, 2, 3}, true},
		"ones come and go":                         {func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(1, 2) }, tensor.Shape{1, 2, 4, 1, 3, 1}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := counting(tensortest.Device(t), 2, 3, 4)
			defer x.Release()
			v := test.view(x)
			defer v.Release()
			if got := v.Viewable(test.as); got != test.want {
				t.Fatalf("%v as %v: viewable %v, want %v", v, test.as, got, test.want)
			}
			if !test.want {
				return
			}
			w := v.View(test.as...)
			defer w.Release()
			equal.Values(t, "elements changed", v.Floats(), w.Floats())
		})
	}
}

func TestMemoryGoesBackWithTheLastHandle(t *testing.T) {
	d := tensortest.Device(t)
	x := counting(d, 4)
	view, again := x.View(2, 2), x.Retain()
	for i, handle := range []*tensor.Tensor{x, again} {
		handle.Release()
		if d.Live() != 16 {
			t.Errorf("after %d of 3 releases: %d bytes live, want 16", i+1, d.Live())
		}
	}
	view.Release()
	if d.Live() != 0 {
		t.Errorf("after the last release: %d bytes live, want 0", d.Live())
	}
}

func TestFreedMemoryIsPoisoned(t *testing.T) {
	d := tensortest.Device(t)
	counting(d, 128).Release()
	x := tensor.New(d, tensor.Shape{128}, device.Float32, tensor.Tag{})
	defer x.Release()
	if got := x.Floats()[5]; !math.IsNaN(got) {
		t.Errorf("memory that was used before holds %v, want NaN", got)
	}
}

func TestMistakesPanicWithBothShapes(t *testing.T) {
	d := tensortest.Device(t)
	x := counting(d, 2, 3)
	defer x.Release()
	tests := map[string]struct {
		do   func()
		want []string
	}{
		"shapes that do not broadcast": {func() { tensor.Broadcast(tensor.Shape{2, 3}, tensor.Shape{4, 3}) }, []string{"[2, 3]", "[4, 3]"}},
		"a view of another size":       {func() { x.View(4, 2) }, []string{"[2, 3]", "[4, 2]"}},
		"an expansion that cannot be":  {func() { x.Expand(tensor.Shape{2, 4}) }, []string{"[2, 3]", "[2, 4]"}},
		"a second release": {func() {
			y := x.Retain()
			y.Release()
			y.Release()
		}, []string{"released before"}},
		"a use after the release": {func() {
			y := x.Retain()
			y.Release()
			y.Floats()
		}, []string{"released before"}},
		"a write into repeated elements": {func() {
			row := x.Narrow(0, 0, 1)
			defer row.Release()
			wide := row.Expand(tensor.Shape{2, 3})
			defer wide.Release()
			wide.CopyFrom(x)
		}, []string{"repeat"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				text, _ := recover().(string)
				for _, want := range test.want {
					if !strings.Contains(text, want) {
						t.Errorf("panic says %q, want it to mention %q", text, want)
					}
				}
			}()
			test.do()
		})
	}
}

func TestNoMemoryIsAnError(t *testing.T) {
	d := tensortest.DeviceOf(t, 32<<20)
	err := tensor.Try(func() {
		tensor.New(d, tensor.Shape{64 << 20}, device.Float32, tensor.Tag{Layer: "h.3.mlp", Role: "gelu output"})
	})
	var oom *alloc.OOMError
	if !errors.As(err, &oom) {
		t.Fatalf("got %v, want an *alloc.OOMError", err)
	}
	for _, want := range []string{"h.3.mlp", "gelu output", "[67108864]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %q", err)
	}
}

func TestPeaksOfNestedStretches(t *testing.T) {
	d := tensortest.Device(t)
	held := counting(d, 25)
	defer held.Release()
	d.Enter()
	d.Enter()
	counting(d, 50).Release()
	inner := d.Leave()
	counting(d, 10).Release()
	if outer := d.Leave(); inner != 300 || outer != 300 {
		t.Errorf("the inner peak is %d and the outer %d, want 300", inner, outer)
	}
}

func TestALostStorageIsReported(t *testing.T) {
	machine, err := cpu.Open(cpu.Options{Capacity: 32 << 20})
	fatal.If(t, err)
	t.Cleanup(func() {
		fatal.If(t, machine.Close())
	})
	memory, err := alloc.New(machine.Memory, alloc.Options{})
	fatal.If(t, err)
	lost := make(chan tensor.Leak, 4) // never closed: the report comes from the runtime
	d := tensor.NewDevice("cpu:0", memory, machine.Backend, tensor.Options{})
	d.OnLeak(func(l tensor.Leak) { lost <- l })
	held, released := counting(d, 5), counting(d, 6)
	short := counting(d, 7)
	block := counting(d, 3).Storage().Allocation() // no Release
	short.Release()                                // before anybody looks
	d.Settle()
	released.Release() // in time
	deadline := time.After(10 * time.Second)
	for {
		runtime.GC()
		select {
		case l := <-lost:
			if l.Allocation != block || l.Bytes != 12 || !strings.Contains(l.String(), "[3]") {
				t.Errorf("lost is %q, %d bytes, want the one of shape [3]", l, l.Bytes)
			}
			held.Release()
			return
		case <-deadline:
			t.Fatal("no report")
		default:
		}
	}
}

func TestEveryTypeTravelsToTheDeviceAndBack(t *testing.T) {
	want := []float64{0, 1, 2, 100}
	for dtype := device.Float32; dtype <= device.Int64; dtype++ {
		x := tensor.From(tensortest.Device(t), want, tensor.Shape{2, 2}, dtype, tensor.Tag{})
		if diff := cmp.Diff(want, x.Floats()); diff != "" || x.Device().Live() != 4*dtype.Size() {
			t.Errorf("%v, %d bytes (-want +got):\n%s", dtype, x.Device().Live(), diff)
		}
		x.Release()
	}
}
