package kernels_test

import (
	"fmt"
	"iter"
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
var orders = []string{"bar.sync", "cp.async.wait_group", "fence.", "wgmma.fence", "wgmma.wait_group", "st.release", "ld.acquire", "atom.acq_rel"}

// unneeded are waits without which nothing is wrong, with the reason, by kernel and by
// place among those of the same text.
var unneeded = map[string]string{}

func init() {
	for reason, places := range map[string]string{
		"a reduction's last barrier is for slots that are used again, and these are not": `reduce_rows 2, reduce_rows 4, norm_squares 2,
			norm_root 2, normalize 4, normalize_wide 4, normalize_backward 6, normalize_backward_wide 6, softmax 2, softmax 4,
			softmax_wide 2, softmax_wide 4, softmax_backward 2, softmax_backward_wide 2, entropy 2, entropy 4, entropy_wide 2,
			entropy_wide 4, entropy_mean 4, score_softmax 2, score_softmax 4, score_softmax_wide 2, score_softmax_wide 4,
			score_backward 2, score_backward_wide 2, update8 5`,
		"a thread stores the numbers that it has made": "flash 6, flash_wide 6, flash_queries 4, flash_queries_wide 4, flash_keys 4, flash_keys_wide 4",
	} {
		for place := range strings.SplitSeq(places, ",") {
			kernel, number, _ := strings.Cut(strings.TrimSpace(place), " ")
			unneeded[kernel+": bar.sync 0, number "+number] = reason
		}
	}
	for k := range kernels.Count {
		for prefix, numbers := range map[string][]int{"tensor_": {1}, "hopper_": {1, 2}, "flash_backward_": {2}} {
			for _, number := range numbers {
				if strings.HasPrefix(k.String(), prefix) {
					unneeded[fmt.Sprintf("%v: cp.async.wait_group 0, number %d", k, number)] = "the groups that are still open are empty"
				}
			}
		}
	}
}

func TestWithoutAnOrderSomethingIsNoticed(t *testing.T) {
	spoil(t, 1, []ptx.Change{ptx.Remove}, func(l ptx.Line) bool {
		return slices.ContainsFunc(orders, func(name string) bool { return strings.HasPrefix(l.Text, name) })
	})
}

func TestWeakReleasesAndAcquiresAreNoticed(t *testing.T) {
	spoil(t, 1, []ptx.Change{ptx.Weaken}, func(l ptx.Line) bool {
		return strings.HasPrefix(l.Text, "st.release") || strings.HasPrefix(l.Text, "ld.acquire") || strings.HasPrefix(l.Text, "atom.acq_rel")
	})
}

// TestWithoutABranchSomethingIsNoticed has all threads take a branch, or none. The tests
// of bounds in the kernels' sources are among them, and so are choices between two ways
// to the same result: that is why not all can be noticed.
func TestWithoutABranchSomethingIsNoticed(t *testing.T) {
	spoil(t, 23, []ptx.Change{ptx.Remove, ptx.Take}, func(l ptx.Line) bool { return strings.HasPrefix(l.Text, "@") })
}

func TestWrongInstructionsAreNoticed(t *testing.T) {
	spoil(t, 211, []ptx.Change{ptx.Flip}, func(ptx.Line) bool { return true })
}

// spoil changes one of n of the instructions that are asked for, with MEMTOP_LONG=1 each,
// one after the other. Two of three must be noticed. Where all are tried, and all tests
// have run on the PTX, all must be.
func spoil(t *testing.T, n int, changes []ptx.Change, asked func(ptx.Line) bool) {
	t.Helper()
	where := os.Getenv("MEMTOP_GPU")
	if where != "" && where != "ptx" {
		t.Skip("the kernels run on a GPU")
	}
	strict := n == 1 && where == "ptx"
	if os.Getenv("MEMTOP_LONG") != "" {
		n = 1
	}
	met, tried, noticed := 0, 0, 0
	for place, one := range spoilable(asked) {
		if met++; met%n != 0 {
			continue
		}
		was, ran := false, false
		for _, c := range changes {
			if !was {
				was, ran = change(programs[one.kernel], one.kernel, one.place, c)
			}
		}
		switch {
		case !ran:
			continue
		case was:
			noticed++
		case unneeded[place] != "":
			continue
		case strict:
			t.Errorf("%s, in %s at line %d: nothing shows that it is spoilt", place, one.Function, one.Number)
		default:
			t.Logf("%s, in %s at line %d: nothing shows that it is spoilt", place, one.Function, one.Number)
		}
		tried++
	}
	if tried == 0 {
		t.Skip("no test has launched a kernel as PTX: run all of this package")
	}
	t.Logf("%d of %d noticed", noticed, tried)
	if 3*noticed < 2*tried {
		t.Errorf("%d of %d spoilt instructions are noticed, want two of three", noticed, tried)
	}
}

// spoiling is an instruction of a kernel.
type spoiling struct {
	ptx.Line
	kernel kernels.Kernel
	place  int
}

// spoilable goes through instructions, by kernel, text and number among those of the same
// text.
func spoilable(asked func(ptx.Line) bool) iter.Seq2[string, spoiling] {
	return func(yield func(string, spoiling) bool) {
		for k, p := range programs {
			if p == nil {
				continue
			}
			nth := make(map[string]int)
			for i := range p.Len() {
				l, times, ok := p.At(i)
				if !ok || !asked(l) {
					continue
				}
				nth[l.Text]++
				name := fmt.Sprintf("%v: %s, number %d", kernels.Kernel(k), l.Text, nth[l.Text])
				if times > 0 && !yield(name, spoiling{l, kernels.Kernel(k), i}) {
					return
				}
			}
		}
	}
}

// mostTried is what repeating launches for one change may cost.
const mostTried = 3_000_000

// change spoils an instruction, and repeats the launches that execute it, the cheapest
// first, until one differs. It reports whether one did, and whether there was any.
func change(p *ptx.Program, k kernels.Kernel, place int, c ptx.Change) (noticed, ran bool) {
	undo, ok := p.Change(place, c)
	if !ok {
		return false, false
	}
	defer undo()
	cost := uint64(0)
	for _, s := range slices.SortedFunc(slices.Values(specimens[k]), func(a, b *specimen) int { return int(a.cost) - int(b.cost) }) {
		if !s.executed[place] || cost > mostTried {
			continue
		}
		cost += s.cost
		ran = true
		if same, err := s.repeat(p); err != nil || !same {
			return true, true
		}
	}
	return false, ran
}
