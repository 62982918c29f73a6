package kernels_test

import (
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// compiled runs the PTX that is shipped, on memory of this process.
type compiled struct {
	ptx.Machine
	programs map[kernels.Kernel]*ptx.Program
	err      error
}

func newCompiled() *compiled { return &compiled{programs: programs} }

// programs are linked when a test first needs them.
var programs = make(map[kernels.Kernel]*ptx.Program)

// program returns a kernel, ready to run.
func program(k kernels.Kernel) (*ptx.Program, error) {
	if p := programs[k]; p != nil {
		return p, nil
	}
	m, err := ptx.Parse(string(codes(kernels.ModuleOf(k), 0, 0)[""]))
	if err != nil {
		return nil, err
	}
	programs[k], err = m.Link(k.String())
	return programs[k], err
}

func (c *compiled) Fall(falling bool) { c.Falling = falling }

func (c *compiled) Failed() error { return nil }

func (c *compiled) Err() error { err := c.err; c.err = nil; return err }

// Place implements machine. Only kernels see the scratch, so nothing was written there.
func (c *compiled) Place(a device.Array, within bool) {
	c.Memory.Add(unsafe.Slice((*byte)(pointer(a.Addr)), a.Buffer().Bytes), within)
}

// Enqueue implements kernels.Queue.
func (c *compiled) Enqueue(l *kernels.Launch) {
	if c.err != nil {
		return
	}
	p, err := program(l.Kernel)
	if err == nil {
		err = c.Run(p, ptx.Launch{Grid: l.Grid, Block: [3]uint32{l.Threads, 1, 1}, Shared: l.Shared, Args: l.Args})
	}
	c.err = err
}

