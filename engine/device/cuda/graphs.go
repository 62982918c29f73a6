package cuda

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"
)

// # A step as graphs
//
// Between BeginStep and EndStep what is queued for the compute stream is captured
// into a graph of the driver, which runs nothing, and the graph is launched as
// one piece of work. A call that a capture does not allow, or that depends on what
// was captured, such as one that reads a value back or takes memory from the
// driver, first ends the capture and launches it; what is queued after the call is
// the next graph. So all work runs in the order of the calls, and no caller knows
// whether it is captured.
//
// The graphs of a step are kept for the next one, by their order. Where that does
// the same kernels in the same order the driver only changes their arguments; else
// the graph is made anew.

// captured are the calls that queue work which a graph can hold, all of them for
// the compute stream; aside are those that have nothing to do with a stream. Every
// other call ends a capture.
var (
	captured = [symbolCount]bool{cuLaunchKernel: true, cuMemcpyDtoDAsync: true, cuMemsetD8Async: true}
	aside    = [symbolCount]bool{cuFuncSetAttribute: true, cuModuleGetFunction: true, cuMemGetInfo: true}
)

// mostGraphs is how many graphs a step may have. What comes after the last one is
// queued as without graphs: a step that is interrupted so often gains nothing.
const mostGraphs = 16

// captureRelaxed lets any thread end a capture that another one began.
const captureRelaxed = 2

// graphUpdateFailed is the result for a graph that is not like the one before.
const graphUpdateFailed Result = 910

// graphs is the state of captures. Safe for concurrent use.
type graphs struct {
	within atomic.Bool // a step that uses graphs; changed with mu held
	// mu is held while something is captured, so that a capture ends before it or
	// after it.
	mu        sync.Mutex
	capturing bool
	list      []uintptr // of the step before, in their order, as the driver runs them
	next      int       // graph of this step
}

// BeginStep implements device.Steps.
func (b *Backend) BeginStep(asGraphs bool) {
	g := &b.device.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	g.within.Store(asGraphs)
	g.next = 0
	if !asGraphs {
		b.keep(b.device.dropGraphs())
	}
}

// EndStep implements device.Steps.
func (b *Backend) EndStep() {
	g := &b.device.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	b.keep(b.device.land())
	g.within.Store(false)
}

// before prepares for a call, with the device's context. If it returns held, the
// caller unlocks mu when the call is done.
func (d *Device) before(s Symbol) (held bool, err error) {
	g := &d.graphs
	if !g.within.Load() || aside[s] {
		return false, nil
	}
	g.mu.Lock()
	if captured[s] {
		return true, d.capture()
	}
	defer g.mu.Unlock()
	return false, d.land()
}

// capture begins a capture if none is under way. It is called with mu held.
func (d *Device) capture() error {
	g := &d.graphs
	if g.capturing || !g.within.Load() || g.next == mostGraphs {
		return nil
	}
	err := d.do(cuStreamBeginCapture, d.compute, captureRelaxed)
	g.capturing = err == nil
	return d.note(err)
}

// land launches what was captured. If that fails, work is lost of which some
// results may be in use: the device is not used any more. It is called with mu
// held.
func (d *Device) land() error {
	g := &d.graphs
	if !g.capturing {
		return nil
	}
	g.capturing = false
	defer d.leave()
	err := d.enter()
	if err == nil {
		err = d.launchCaptured()
	}
	if e := new(*Error); errors.As(err, e) {
		d.Fail(*e)
	}
	return err
}

func (d *Device) launchCaptured() error {
	f := newFrame()
	defer f.release()
	if err := d.do(cuStreamEndCapture, d.compute, f.at(0)); err != nil {
		return err
	}
	graph := uintptr(f.words[0])
	exec, err := d.executable(graph)
	if err == nil {
		err = d.do(cuGraphLaunch, exec, d.compute)
	}
	d.graphs.next++
	return errors.Join(err, d.do(cuGraphDestroy, graph))
}

// executable returns a graph in the form that the driver runs: that of the step
// before with its arguments changed, or a new one.
func (d *Device) executable(graph uintptr) (uintptr, error) {
	g := &d.graphs
	f := newFrame()
	defer f.release()
	if g.next < len(g.list) {
		// The result's three words say what differs.
		r := d.Call(cuGraphExecUpdate, g.list[g.next], graph, f.at(0)+unsafe.Offsetof(f.bytes))
		if r == success {
			return g.list[g.next], nil
		}
		if r != graphUpdateFailed {
			return 0, d.failure(cuGraphExecUpdate, r)
		}
		if err := d.do(cuGraphExecDestroy, g.list[g.next]); err != nil {
			return 0, err
		}
		g.list[g.next] = 0
	} else {
		g.list = append(g.list, 0)
	}
	if err := d.do(cuGraphInstantiate, f.at(0), graph, 0); err != nil {
		g.list = g.list[:g.next] // those after it are not of this step
		return 0, err
	}
	g.list[g.next] = uintptr(f.words[0])
	return g.list[g.next], nil
}

// dropGraphs gives the kept graphs back. It is called with mu held.
func (d *Device) dropGraphs() error {
	g := &d.graphs
	if len(g.list) == 0 {
		return nil
	}
	defer d.leave()
	err := d.enter()
	for _, exec := range g.list {
		if err == nil {
			err = d.note(d.do(cuGraphExecDestroy, exec))
		}
	}
	g.list = nil
	return err
}
