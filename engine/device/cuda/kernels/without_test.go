package kernels_test

import (
	"fmt"
	"os"
	"regexp"
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
var orders = []string{"bar.sync", "cp.async.wait_group", "st.release", "ld.acquire"}

// unneeded are waits without which nothing is wrong, with the reason, by kernel and by
// place among those of the same text.
var unneeded = map[string]string{}

func init() {
	for reason, places := range map[string]string{
		"a reduction's last barrier is for slots that are used again, and these are not": `reduce_rows 2, reduce_rows 4, norm_squares 2,
			norm_root 2, normalize 4, normalize_backward 6, softmax 2, softmax 4, softmax_backward 2, entropy 2, entropy 4,
			entropy_mean 4, entropy_count 2, entropy_both 2, entropy_both 4, score_softmax 2, score_softmax 4, score_backward 2, update8 5`,
		"a thread stores the numbers that it has made": "flash 6, flash_queries 4, flash_keys 4",
	} {
		for place := range strings.SplitSeq(places, ",") {
			kernel, number, _ := strings.Cut(strings.TrimSpace(place), " ")
			unneeded[kernel+": bar.sync 0, number "+number] = reason
		}
	}
	for k := range kernels.Count {
		for prefix, number := range map[string]int{"tensor_": 1, "flash_backward_": 2} {
			if strings.HasPrefix(k.String(), prefix) {
				unneeded[fmt.Sprintf("%v: cp.async.wait_group 0, number %d", k, number)] = "the groups that are still open are empty"
			}
		}
	}
}

func TestWithoutAnOrderSomethingIsNoticed(t *testing.T) {
	spoil(t, 1, []ptx.Change{ptx.Remove}, func(s spoiling) bool {
		return slices.ContainsFunc(orders, func(name string) bool { return strings.HasPrefix(s.Text, name) })
	})
}

func TestWeakReleasesAndAcquiresAreNoticed(t *testing.T) {
	spoil(t, 1, []ptx.Change{ptx.Weaken}, func(s spoiling) bool {
		return strings.HasPrefix(s.Text, "st.release") || strings.HasPrefix(s.Text, "ld.acquire")
	})
}

// bounds is how a branch is decided that keeps within a number of elements.
var bounds = regexp.MustCompile(`^(not )?setp\.(lt|le|gt|ge)\.[su](32|64) `)

// equivalent are tests of bounds without which the same is computed, and why.
var equivalent = []rule{
	{`elementwise (binary|copy_strided)`, `setp\.lt\.u64 .* 4294967296`, "division of 64 bits in place of 32 gives the same"},
	{`norms (softmax|score_softmax|entropy|entropy_both)`, `setp\.lt\.u32 .*`, "the largest of a row is only subtracted: another of its numbers gives the same"},
}

// TestWithoutABoundsTestSomethingIsNoticed has all threads take a branch, or none.
func TestWithoutABoundsTestSomethingIsNoticed(t *testing.T) {
	same := spoil(t, 1, []ptx.Change{ptx.Remove, ptx.Take}, func(s spoiling) bool { return bounds.MatchString(s.condition) })
	for i, e := range equivalent {
		t.Logf("%d make no difference: %s", same[i], e.why)
		if same[i] == 0 {
			t.Errorf("%s: %s: every such test is noticed", e.where, e.condition)
		}
	}
}

// TestWithoutABranchSomethingIsNoticed has the same of all other branches. Among them are
// choices between two ways to the same result: that is why not all can be noticed.
func TestWithoutABranchSomethingIsNoticed(t *testing.T) {
	spoil(t, 23, []ptx.Change{ptx.Remove, ptx.Take}, func(s spoiling) bool { return s.condition != "" && !bounds.MatchString(s.condition) })
}

func TestWrongInstructionsAreNoticed(t *testing.T) {
	spoil(t, 211, []ptx.Change{ptx.Flip}, func(spoiling) bool { return true })
}

// spoil changes one of n of the instructions that are asked for, with MEMTOP_LONG=1 each,
// one after the other, if all tests have run on the PTX. Two of three must be noticed; where
// n is 1, all must be, but those that are listed. It returns how many are not, by place in
// the list of those that are equivalent.
func spoil(t *testing.T, n int, changes []ptx.Change, asked func(spoiling) bool) (same map[int]int) {
	t.Helper()
	if !thorough {
		t.Skip("it repeats launches for minutes: MEMTOP_GPU=ptx lets it")
	}
	strict := n == 1
	if os.Getenv("MEMTOP_LONG") != "" {
		n = 1
	}
	tried, noticed := 0, 0
	same = make(map[int]int)
	for i, group := range spoilable(asked) {
		if (i+1)%n != 0 {
			continue
		}
		was, ran := notices(group, changes)
		if !ran {
			continue
		}
		one := group[0]
		listed := slices.IndexFunc(equivalent, func(e rule) bool { return e.is(one.where, one.condition) })
		switch {
		case was:
			noticed++
		case unneeded[one.name] != "":
			continue
		case listed >= 0:
			same[listed]++
			continue
		case strict:
			t.Errorf("%s, in %s at line %d: nothing shows that it is spoilt; %s", one.name, one.Function, one.Number, one.condition)
		default:
			t.Logf("%s, in %s at line %d: nothing shows that it is spoilt", one.name, one.Function, one.Number)
		}
		tried++
	}
	t.Logf("%d of %d noticed", noticed, tried)
	if 3*noticed < 2*tried {
		t.Errorf("%d of %d spoilt instructions are noticed, want two of three", noticed, tried)
	}
	return same
}

// spoiling is an instruction of a kernel.
type spoiling struct {
	ptx.Line
	kernel    kernels.Kernel
	place     int
	name      string // by kernel, text and number among those of the same text
	where     string // module and function
	condition string // of a branch
}

// spoilable returns instructions that were executed, each with all kernels that do so.
func spoilable(asked func(spoiling) bool) [][]spoiling {
	var groups [][]spoiling
	known := make(map[written]int)
	for k, p := range programs {
		if p == nil {
			continue
		}
		nth := make(map[string]int)
		for i := range p.Len() {
			at, times, ok := writtenAt(kernels.Kernel(k), i)
			if !ok {
				continue
			}
			l, _, _ := p.At(i)
			_, condition, _ := p.Ways(i)
			s := spoiling{l, kernels.Kernel(k), i, "", at.module.String() + " " + at.function, condition}
			if !asked(s) {
				continue
			}
			nth[l.Text]++
			s.name = fmt.Sprintf("%v: %s, number %d", s.kernel, l.Text, nth[l.Text])
			if times == 0 {
				continue
			}
			if g, ok := known[at]; ok {
				groups[g] = append(groups[g], s)
				continue
			}
			known[at] = len(groups)
			groups = append(groups, []spoiling{s})
		}
	}
	return groups
}

// notices reports whether a change is noticed in one of the kernels that have an
// instruction, and whether a launch was repeated.
func notices(group []spoiling, changes []ptx.Change) (noticed, ran bool) {
	for _, s := range group {
		for _, c := range changes {
			was, did := change(s, c)
			if ran = ran || did; was {
				return true, true
			}
		}
	}
	return false, ran
}

// mostTried is what repeating launches for one change may cost.
const mostTried = 3_000_000

// change spoils an instruction, and repeats the launches that execute it, the cheapest
// first, until one differs. It reports whether one did, and whether there was any.
func change(one spoiling, c ptx.Change) (noticed, ran bool) {
	p := programs[one.kernel]
	undo, ok := p.Change(one.place, c)
	if !ok {
		return false, false
	}
	defer undo()
	cost := uint64(0)
	for _, s := range slices.SortedFunc(slices.Values(specimens[one.kernel]), func(a, b *specimen) int { return int(a.cost) - int(b.cost) }) {
		if !s.executed[one.place] || cost > mostTried {
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
