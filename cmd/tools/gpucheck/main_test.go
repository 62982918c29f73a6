package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/cudatest"
	"github.com/memtop/memtop/engine/device/cuda/kernels/hostbuild"
)

func TestEveryOperationIsTried(t *testing.T) {
	tried := make(map[string]bool)
	for _, r := range rows {
		tried[r.operation] = true
	}
	for _, r := range transfers {
		tried[r.operation] = true
	}
	for m := range reflect.TypeFor[device.Backend]().Methods() {
		if !tried[m.Name] {
			t.Errorf("%s has no row", m.Name)
		}
		delete(tried, m.Name)
	}
	for name := range tried {
		t.Errorf("there is no operation %s", name)
	}
}

// small are sizes that the host build computes quickly.
var small = shapes{batch: 2, length: 8, heads: 4, dim: 64, width: 256, hidden: 256, vocab: 264, image: 4, channels: 2}

var build struct {
	once    sync.Once
	library *hostbuild.Library
	err     error
}

// openSmall opens the host build of the kernels behind a driver of the tests.
func openSmall(t *testing.T, o cudatest.Options) *checker {
	t.Helper()
	build.once.Do(func() {
		var dir string
		if dir, build.err = os.MkdirTemp("", "gpucheck"); build.err == nil {
			build.library, build.err = hostbuild.Build(t.Context(), dir, "")
			_ = os.RemoveAll(dir)
		}
	})
	if errors.Is(build.err, hostbuild.ErrNoCompiler) {
		t.Skip(build.err)
	}
	if build.err != nil {
		t.Fatal(build.err)
	}
	o.Run = cudatest.Kernels(build.library)
	c, err := open(cuda.Options{Driver: cudatest.New(o)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	c.session.repeats = 0 // its time is not real
	return c
}

func TestOperationsOfTheHostBuildPass(t *testing.T) {
	c := openSmall(t, cudatest.Options{})
	var table bytes.Buffer
	if !c.all(&table, small, 0) {
		t.Error("something failed")
	}
	for line := range strings.Lines(table.String()) {
		cells := strings.Split(line, "\t")
		library := strings.HasSuffix(cells[1], "cuBLASLt") || strings.HasSuffix(cells[1], "wgmma")
		if want := map[bool]string{true: "SKIP", false: "PASS"}[library]; len(cells) != 5 || cells[0] != "gpucheck" || cells[2] != want {
			t.Errorf("want 5 cells, and %s: %q", want, line)
		}
	}
}

func TestOperationsThatAreWrongFail(t *testing.T) {
	tests := map[string]func(c *checker, tr *trial){
		"it does nothing": func(*checker, *trial) {},
		"a result is 5 % too large": func(c *checker, tr *trial) {
			c.session.do(tr)
			for _, o := range tr.operands {
				if a := c.session.arrays[o]; o.isResult() && o.dtype.IsFloat() {
					c.session.device.Scale(a, a, 1.05)
					return
				}
			}
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			c := openSmall(t, cudatest.Options{})
			c.session.act = func(tr *trial) { act(c, tr) }
			for _, step := range c.steps(small) {
				if step.trial == nil {
					continue
				}
				if v := step.try(); v.result() == "PASS" {
					t.Errorf("%s passes", step.name)
				}
			}
		})
	}
}

func TestASecondRunThatDiffersFails(t *testing.T) {
	c := openSmall(t, cudatest.Options{})
	runs := 0
	c.session.act = func(tr *trial) {
		c.session.do(tr)
		if runs++; runs == 2 {
			y := c.session.arrays[tr.operands[1]]
			c.session.device.Fill(y.Slice(y.Len-1, 1), 1)
		}
	}
	for _, step := range c.steps(small) {
		if step.trial == nil || step.trial.operation != "Softmax" {
			continue
		}
		if v := step.try(); v.result() != "FAIL" || v.err.Error() != "two runs differ" {
			t.Errorf("%s: %v", step.name, v.err)
		}
		return
	}
}

func TestTheWorstRowDecides(t *testing.T) {
	want := []float64{1, 1, 100, 100, 0, 0}
	tests := map[string]struct {
		got  []float64
		want float64
	}{
		"equal":                       {want, 0},
		"a small row among large":     {[]float64{1.5, 1.5, 100, 100, 0, 0}, 0.5},
		"no number":                   {[]float64{1, math.NaN(), 100, 100, 0, 0}, math.Inf(1)},
		"something instead of zeros":  {[]float64{1, 1, 100, 100, 0, 1e-9}, math.Inf(1)},
		"infinite instead of numbers": {[]float64{1, 1, math.Inf(1), 100, 0, 0}, math.Inf(1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := distance(test.got, want, 2); err != nil || got != test.want {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
	if _, err := distance(nil, nil, 2); err == nil {
		t.Error("nothing agrees with nothing")
	}
}
