package kernels_test

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// compiled runs the PTX that is shipped, on memory of this process.
type compiled struct {
	ptx.Machine
	open bool // the language leaves results of what was launched open
	err  error
}

// programs are linked when a test first needs them, and count what they execute.
var (
	programs [kernels.Count]*ptx.Program
	open     [kernels.Count]bool // the language leaves some of their results open
)

// runs counts launches of the PTX in a test.
var runs [kernels.Count]int

// often is how many launches of a kernel are enough in a test where the host build runs,
// too.
const often = 2

// seldom reports whether a kernel of a case has not often run.
func seldom(launched []kernels.Kernel) bool {
	return slices.ContainsFunc(launched, func(k kernels.Kernel) bool { return runs[k] < often })
}

// program returns a kernel, ready to run.
func program(k kernels.Kernel) (*ptx.Program, error) {
	if p := programs[k]; p != nil {
		return p, nil
	}
	m, err := ptx.Parse(string(codes(kernels.ModuleOf(k), 0, 0)[""]))
	if err != nil {
		return nil, err
	}
	if programs[k], err = m.Link(k.String()); err == nil {
		open[k] = programs[k].Open()
	}
	return programs[k], err
}

func (c *compiled) Failed() error { return nil }

// Err implements machine. A failure ends the case only.
func (c *compiled) Err() error {
	err := c.err
	c.err = nil
	return err
}

// Ways implements machine: the blocks and their warps in rising and in falling order, and
// if the language leaves results open, those that are farthest off.
func (c *compiled) Ways() iter.Seq[string] {
	return func(yield func(string) bool) {
		c.open = false
		for _, c.Falling = range []bool{false, true} {
			if !yield("as PTX") {
				return
			}
		}
		defer func() { c.Freedom = ptx.Nearest }()
		for _, c.Freedom = range []ptx.Freedom{ptx.Low, ptx.High} {
			if c.open && !yield(fmt.Sprintf("as PTX, with freedom %d", c.Freedom)) {
				return
			}
		}
	}
}

// Slack implements machine: sums of hundreds of numbers that are all rounded to one side
// are farther off than others, by 6.2e-6 of 333 numbers in float32.
func (c *compiled) Slack() float64 {
	if c.Freedom != ptx.Nearest {
		return 4
	}
	return 1
}

// Place implements machine. Only kernels see the scratch, so nothing was written there.
func (c *compiled) Place(a device.Array, within bool) {
	c.Memory.Add(unsafe.Slice((*byte)(pointer(a.Addr)), a.Buffer().Bytes), within)
}

// Enqueue implements kernels.Queue.
func (c *compiled) Enqueue(l *kernels.Launch) {
	if c.err != nil {
		return
	}
	runs[l.Kernel]++
	p, err := program(l.Kernel)
	if err == nil {
		c.open = c.open || open[l.Kernel]
		err = c.Run(p, ptx.Launch{Grid: l.Grid, Block: [3]uint32{l.Threads, 1, 1}, Shared: l.Shared, Args: l.Args})
	}
	c.err = err
}

// unreached are the branches that go one way only, and why: by the module and function,
// by what the branch is decided by, and by the way that is never taken. All instructions
// that no test executes lie behind these.
var unreached = []rule{
	{`.*`, `(not )?setp\.(ne|lt)\.[su]64 .*4294967296\)?( 0)?`, "2^32 elements or more: a test has no room for them"},
	{`.*`, `not setp\.eq\.s32 \(and\.b32 \(add\.s32 % -1\) -4\) .*`, "a second round of four warps: the block has eight, of which one has begun"},
	{`.* _ZL\d+(load|store)_fewI.*`, `not setp\.gt\.s32 \(ld\.param\.u32 \[.*_param_3\]\) 0`, "a part without elements: no caller has one"},
	{`(flash|flash_bfloat|flash_half|norms) _ZN4mathL3logEd`, `not setp\.ge\.f64 .*`, "the logarithm of a negative number: these are of sums of powers"},
	{`optimizers _ZN4mathL3expEd`, `not setp\.leu\.f64 .* 0d40862E6666666666`, "a power that is too large: these exponents are not positive"},
	{`(optimizers|norms) _ZL\d+(load|store)_(any|few)Id.*`, `(not )?setp\.(eq|ne)\.s32 \(ld\.param\.u32 \[.*_param_1\]\) \d`, "a norm or numbers of a loss in another type than float32"},
	{`.* _ZL\d+(load|store)_anyIf.*`, `(not )?setp\.(eq|ne)\.s32 \(ld\.param\.u32 \[.*_param_1\]\) \d`, "single numbers of a type that load_few and store_few move themselves, or that goes by way of float64"},
	{`elementwise _ZL\d+(load|store)_(any|few)Id.*`, `(not )?setp\.(eq|ne)\.s32 \(ld\.param\.u32 \[.*_param_1\]\) \d`, "types that are cast by way of float32"},
	{`matmul matmul.*`, `not setp\.gt\.s64 \(ld\.param\.u64 \[matmul.*_param_0\+160\]\) -16`, "a negative depth"},
	{`elementwise (unary|binary)`, `not setp\.eq\.s32 \(ld\.param\.u32 \[%\+(72|80)\]\) \d`, "an operation that is none"},
	{`elementwise (gather|copy_strided)`, `(not )?setp\.eq\.s32 \(ld\.param\.u32 \[%\+(96|252)\]\) [12]`, "pieces of a size that is none, or of one byte: elements of tables have at least two"},
	{`norms (score_softmax|score_backward|store_heads)`, `(not )?setp\.(eq|ne)\.s16 \(ld\.param\.u8 \[%\+(16|40)\]\) [02]`, "scores and their gradients in 16 bits: those that are not probabilities are in float32"},
	{`elementwise cast`, `setp\.ne\.s16 \(ld\.param\.u8 \[%\+16\]\) \d`, "a whole number of a type that is none"},
	{`norms softmax`, `not setp\.gt\.s64 \(ld\.param\.u64 \[softmax_param_0\+96\]\) .*`, "the first of four elements beyond its row"},
}

// rule is about branches in functions of modules, by what decides them. Both are regular
// expressions.
type rule struct{ where, condition, why string }

func (r rule) is(where, condition string) bool {
	return matches(r.where, where) && matches(r.condition, condition)
}

// TestThePTXIsReached checks that the tests before it, in files whose names come
// earlier, have executed every instruction of
// the text, except those behind the branches of the list, all of which it needs.
func TestThePTXIsReached(t *testing.T) {
	if !thorough {
		t.Skip("MEMTOP_GPU=ptx runs all tests on the PTX")
	}
	text := reachedText(t)
	executed := 0
	for _, is := range text {
		if is {
			executed++
		}
	}
	t.Logf("%d of %d instructions of the text, %.2f %%", executed, len(text), 100*float64(executed)/float64(len(text)))
	needed := make([]int, len(unreached))
	for what := range oneWay(text) {
		listed := slices.IndexFunc(unreached, func(u rule) bool { return u.is(what.where, what.condition) })
		if listed < 0 {
			t.Errorf("%s: %s: no test goes this way", what.where, what.condition)
			continue
		}
		needed[listed]++
	}
	for i, u := range unreached {
		if needed[i] == 0 {
			t.Errorf("%s: %s: every such branch goes both ways", u.where, u.condition)
		}
		t.Logf("%d branches: %s", needed[i], u.why)
	}
}

func matches(pattern, text string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(text)
}

// written is an instruction of a module's text, which several kernels may execute.
type written struct {
	module   kernels.Module
	function string
	line     int
}

func writtenAt(k kernels.Kernel, place int) (at written, times uint32, ok bool) {
	l, times, ok := programs[k].At(place)
	return written{kernels.ModuleOf(k), l.Function, l.Number}, times, ok
}

// reachedText says of every instruction of the text whether it was executed.
func reachedText(t *testing.T) map[written]bool {
	t.Helper()
	reached := make(map[written]bool)
	for k, p := range programs {
		if p == nil {
			t.Errorf("no test launches %v", kernels.Kernel(k))
			continue
		}
		for i := range p.Len() {
			if at, times, ok := writtenAt(kernels.Kernel(k), i); ok {
				reached[at] = reached[at] || times > 0
			}
		}
	}
	return reached
}

// way is one that a branch never takes.
type way struct{ where, condition string }

// oneWay returns the ways of branches that were executed to instructions that were not.
func oneWay(reached map[written]bool) map[way]bool {
	all := make(map[way]bool)
	for k, p := range programs {
		for i := range p.Len() {
			next, condition, ok := p.Ways(i)
			at, _, _ := writtenAt(kernels.Kernel(k), i)
			if !ok || !reached[at] {
				continue
			}
			for taken, place := range next {
				if to, _, ok := writtenAt(kernels.Kernel(k), place); ok && !reached[to] {
					all[way{at.module.String() + " " + at.function, []string{"not ", ""}[taken] + condition}] = true
				}
			}
		}
	}
	return all
}
