package kernels_test

import (
	"fmt"
	"iter"
	"slices"
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
