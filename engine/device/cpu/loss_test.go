package cpu

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func referenceEntropy(logits []float64, targets []int, classes int) float64 {
	probs := referenceSoftmax(logits, len(targets), classes)
	total, counted := 0.0, 0.0
	for r, target := range targets {
		if target >= 0 {
			total -= math.Log(probs[r*classes+target])
			counted++
		}
	}
	return total / counted
}

func newEntropy(r *rig, kind, index device.DType, targets []int, classes int) device.CrossEntropy {
	numbers := make([]float64, len(targets))
	for i, target := range targets {
		numbers[i] = float64(target)
	}
	statistic := device.ComputeType(kind)
	return device.CrossEntropy{
		Rows: len(targets), Classes: classes, IgnoreIndex: -100, Logits: r.normals(kind, len(targets)*classes),
		Targets: r.put(index, numbers...), LSE: r.array(statistic, len(targets)), Loss: r.array(statistic, 1), Count: r.array(statistic, 1),
	}
}

func TestCrossEntropyAndItsGradient(t *testing.T) {
	tests := map[string]struct {
		targets []int
		classes int
	}{
		"one row":                   {[]int{2}, 3},
		"several rows":              {[]int{0, 4, 1, 4, 2}, 5},
		"some rows ignored":         {[]int{-100, 3, -100, 0}, 7},
		"more classes than a part":  {[]int{19999, 0, -100}, 20000},
		"more rows than one worker": {make([]int, 300), 100},
	}
	for name, test := range tests {
		for _, kind := range floats {
			for _, index := range []device.DType{device.Int32, device.Int64} {
				t.Run(fmt.Sprintf("%s, %v, %v", name, kind, index), func(t *testing.T) {
					checkEntropy(t, newRig(t, 2), kind, index, test.targets, test.classes)
				})
			}
		}
	}
}

// What lies between rows counts for nothing, and its gradient is 0.
func TestCrossEntropyOfRowsThatLieApart(t *testing.T) {
	for _, kind := range floats {
		r := newRig(t, 2)
		targets, classes, stride := []int{4, -100, 0, 2}, 5, 8
		near, apart := newEntropy(r, kind, device.Int32, targets, classes), newEntropy(r, kind, device.Int32, targets, classes)
		apart.Stride, apart.Logits = stride, r.array(kind, len(targets)*stride)
		r.Fill(apart.Logits, math.NaN())
		for i := range targets {
			r.Cast(apart.Logits.Slice(i*stride, classes), near.Logits.Slice(i*classes, classes))
		}
		gradients := [2]device.Array{r.array(kind, near.Logits.Len), apart.Logits}
		for i, c := range []device.CrossEntropy{near, apart} {
			r.CrossEntropy(c)
			one := r.array(c.Loss.DType, 1)
			r.Fill(one, 1)
			r.CrossEntropyBackward(gradients[i], c, one)
		}
		if a, b := r.get(near.Loss)[0], r.get(apart.Loss)[0]; a != b {
			t.Errorf("%v: loss %v, of rows apart %v", kind, a, b)
		}
		want, got := r.get(gradients[0]), r.get(gradients[1])
		for i, g := range got {
			w := 0.0
			if i%stride < classes {
				w = want[i/stride*classes+i%stride]
			}
			if g != w {
				t.Errorf("%v: gradient %v at place %d of rows %d apart, want %v", kind, g, i, stride, w)
			}
		}
	}
}

func checkEntropy(t *testing.T, r *rig, kind, index device.DType, targets []int, classes int) {
	t.Helper()
	c := newEntropy(r, kind, index, targets, classes)
	logits := r.get(c.Logits)
	r.CrossEntropy(c)
	near(t, "loss", r.get(c.Loss), []float64{referenceEntropy(logits, targets, classes)}, max(1e-10, min(1e-5, tolerance(kind))))
	dlogits := r.array(kind, len(logits))
	r.CrossEntropyBackward(dlogits, c, r.put(device.Float32, 3))
	count := r.get(c.Count)[0]
	want := referenceSoftmax(logits, len(targets), classes)
	for i := range want {
		target := targets[i/classes]
		if target == i%classes {
			want[i]--
		}
		want[i] *= 3 / count
		if target < 0 {
			want[i] = 0
		}
	}
	near(t, "dlogits", r.get(dlogits), want, tolerance(kind))
	if kind == device.Float64 && len(logits) < 100 {
		numerical := numericalGradient(logits, []float64{3}, func(x []float64) []float64 {
			return []float64{referenceEntropy(x, targets, classes)}
		})
		near(t, "dlogits by differences", r.get(dlogits), numerical, 1e-8)
	}
}

func TestCrossEntropyOfIgnoredRowsOnlyIsNotANumber(t *testing.T) {
	r := newRig(t, 1)
	c := newEntropy(r, device.Float32, device.Int64, []int{-100, -100}, 4)
	r.CrossEntropy(c)
	if got := r.get(c.Loss)[0]; !math.IsNaN(got) {
		t.Errorf("got %v", got)
	}
}

func TestGatherAndScatterAdd(t *testing.T) {
	for _, kind := range floats {
		for _, cols := range []int{1, 3, 64, 769} {
			t.Run(fmt.Sprintf("%v, rows of %d", kind, cols), func(t *testing.T) {
				r := newRig(t, 2)
				ids := []float64{3, 0, 3, 3, 5}
				table := r.normals(kind, 6*cols)
				rows := r.array(kind, len(ids)*cols)
				r.Gather(rows, table, r.put(device.Int64, ids...), 6, cols)
				var want []float64
				for _, id := range ids {
					want = append(want, r.get(table)[int(id)*cols:][:cols]...)
				}
				near(t, "gathered", r.get(rows), want, 0)

				sums := r.get(table)
				src := r.normals(kind, len(ids)*cols)
				for i, id := range ids {
					for c := range cols {
						sums[int(id)*cols+c] += r.get(src.Slice(i*cols+c, 1))[0]
					}
				}
				r.ScatterAdd(table, src, r.put(device.Int32, ids...), 6, cols)
				near(t, "scattered", r.get(table), sums, 3*tolerance(kind))
			})
		}
	}
}

// A gradient may be added to what another use of the table gave, or be made by itself
// and added then, as a checkpoint has it: both must give the same bits.
func TestScatterAddGivesTheBitsOfAddingItsSum(t *testing.T) {
	const cols = 70
	r := newRig(t, 2)
	ids := make([]float64, 40)
	for i := range ids {
		ids[i] = float64(i % 3)
	}
	src, at := r.normals(device.Float32, len(ids)*cols), r.put(device.Int32, ids...)
	table, sum := r.normals(device.Float32, 3*cols), r.put(device.Float32, make([]float64, 3*cols)...)
	want := r.array(device.Float32, 3*cols)
	r.ScatterAdd(sum, src, at, 3, cols)
	r.AddScaled(want, table, sum, 1)
	r.ScatterAdd(table, src, at, 3, cols)
	if !bytes.Equal(r.bytes(table), r.bytes(want)) {
		t.Error("other bits in place than by itself")
	}
}

func TestIndexesOutOfRangeAreReportedNotFollowed(t *testing.T) {
	tests := map[string]func(r *rig){
		"gather": func(r *rig) {
			r.Gather(r.array(device.Float32, 2), r.normals(device.Float32, 4), r.put(device.Int64, 0, 4), 4, 1)
		},
		"scatter add": func(r *rig) {
			r.ScatterAdd(r.normals(device.Float32, 4), r.normals(device.Float32, 2), r.put(device.Int64, -1, 4), 4, 1)
		},
		"cross entropy": func(r *rig) {
			r.CrossEntropy(newEntropy(r, device.Float32, device.Int64, []int{7}, 4))
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 2)
			do(r)
			if err := r.Synchronize(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want an error about %s", err, name)
			}
		})
	}
}
