package kernels_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// These tests spoil the PTX, one instruction at a time, and repeat the launches of the
// tests before them, whose files' names come before this one's. What is spoilt must be
// noticed: reported when it is executed, or by what it leaves in memory.

// orders are the instructions that make threads or copies wait for each other.
var orders = []string{"bar.sync", "cp.async.wait_group", "fence.", "wgmma.fence", "wgmma.wait_group", "st.release", "ld.acquire"}

// unnoticed are changes that cannot be noticed, with the reason.
var unnoticed = map[string]string{}

func TestWithoutAnOrderSomethingIsNoticed(t *testing.T) {
	tried := spoil(t, []ptx.Change{ptx.Remove}, func(l ptx.Line) bool {
		return slices.ContainsFunc(orders, func(name string) bool { return strings.HasPrefix(l.Text, name) })
	})
	t.Logf("%d barriers and fences removed", tried)
}

// TestWithoutABranchSomethingIsNoticed has all threads take a branch, or none. Of the
// tests of bounds in the kernels' sources each is one of these.
func TestWithoutABranchSomethingIsNoticed(t *testing.T) {
	tried := spoil(t, []ptx.Change{ptx.Remove, ptx.Take}, every(23, func(l ptx.Line) bool { return strings.HasPrefix(l.Text, "@") }))
	t.Logf("%d branches changed", tried)
}

func TestWrongInstructionsAreNoticed(t *testing.T) {
	tried := spoil(t, []ptx.Change{ptx.Flip}, every(211, func(ptx.Line) bool { return true }))
	t.Logf("%d instructions changed", tried)
}

// every asks for one of n of those that are asked for; with MEMTOP_GPU=ptx for all.
func every(n int, asked func(ptx.Line) bool) func(ptx.Line) bool {
	if os.Getenv("MEMTOP_GPU") == "ptx" {
		return asked
	}
	i := 0
	return func(l ptx.Line) bool {
		if !asked(l) {
			return false
		}
		i++
		return i%n == 0
	}
}

// spoil changes the instructions that are asked for, one after the other, and returns how
// many there were. One of the changes must be noticed.
func spoil(t *testing.T, changes []ptx.Change, asked func(ptx.Line) bool) (tried int) {
	t.Helper()
	if os.Getenv("MEMTOP_GPU") != "" && os.Getenv("MEMTOP_GPU") != "ptx" {
		t.Skip("the kernels run on a GPU")
	}
	for k, p := range programs {
		if p == nil {
			continue
		}
		nth := make(map[string]int)
		for i := range p.Len() {
			l, _, ok := p.At(i)
			if !ok {
				continue
			}
			if nth[l.Text]++; !asked(l) {
				continue
			}
			noticed, ran := false, false
			for _, c := range changes {
				if !noticed {
					noticed, ran = change(p, kernels.Kernel(k), i, c)
				}
			}
			if !ran {
				continue
			}
			tried++
			if name := fmt.Sprintf("%v: %s, number %d", kernels.Kernel(k), l.Text, nth[l.Text]); !noticed && unnoticed[name] == "" {
				t.Errorf("%s, in %s at line %d: nothing shows that it is spoilt", name, l.Function, l.Number)
			}
		}
	}
	if tried == 0 {
		t.Skip("no test has launched a kernel as PTX: run all of this package")
	}
	return tried
}

// change spoils an instruction, and repeats the launches that execute it, the cheapest
// first, until one differs. It reports whether one did, and whether there was any.
func change(p *ptx.Program, k kernels.Kernel, place int, c ptx.Change) (noticed, ran bool) {
	undo, ok := p.Change(place, c)
	if !ok {
		return false, false
	}
	defer undo()
	for _, s := range slices.SortedFunc(slices.Values(specimens[k]), func(a, b *specimen) int { return int(a.cost) - int(b.cost) }) {
		if !s.executed[place] {
			continue
		}
		ran = true
		if same, err := s.repeat(p); err != nil || !same {
			return true, true
		}
	}
	return false, ran
}
