package cuda

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/memtop/memtop/engine/alloc"
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
// the same kernels in the same order the driver only changes their arguments; else,
// or if the driver cannot, the graph is made anew.
//
// What a capture holds is kept here too, see kept.go. If the driver makes no graph
// of it, for lack of memory or for any reason that leaves the device working, the
// same calls are made again without a capture, and the rest of the step follows
// without graphs. So graphs that fail cost time, and no step.

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

// graphs is the state of captures. Safe for concurrent use.
type graphs struct {
	within atomic.Bool // a step that uses graphs; changed with mu held
	// mu is held while something is captured, so that a capture ends before it or
	// after it.
	mu         sync.Mutex
	capturing  bool
	plain      bool       // the rest of the step is queued as without graphs
	list       []uintptr  // of the step before, in their order, as the driver runs them; 0 is none
	next       int        // graph of this step
	kept       []kept     // what the capture holds
	launchCall launchCall // for kernels of kept
	noticed    bool       // that a step was queued without graphs
}

// BeginStep implements device.Steps.
func (b *Backend) BeginStep(asGraphs bool) {
	g := &b.device.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	g.within.Store(asGraphs)
	g.next, g.plain = 0, false
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
	if g.capturing || g.plain || !g.within.Load() || g.next == mostGraphs {
		return nil
	}
	err := d.note(d.do(cuStreamBeginCapture, d.compute, captureRelaxed))
	g.capturing, g.kept = err == nil, g.kept[:0]
	if err != nil && d.Failed() == nil {
		d.withoutGraphs(err)
		return nil
	}
	return err
}

// withoutCapture ends a capture and has the rest of the step queued as without
// graphs, for a call of a library that may do what a capture does not allow.
func (d *Device) withoutCapture() error {
	g := &d.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.within.Load() {
		return nil
	}
	g.plain = true
	return d.land()
}

// land launches what was captured, or, without a graph of it, queues it again. If
// that fails too, work is lost of which some results may be in use: the device is
// not used any more. It is called with mu held.
func (d *Device) land() error {
	g := &d.graphs
	if !g.capturing {
		return nil
	}
	g.capturing = false
	defer d.leave()
	if err := d.enter(); err != nil {
		return err
	}
	made, err := d.launchCaptured()
	if err = d.note(err); err == nil || d.Failed() != nil {
		return err
	}
	if !made {
		d.withoutGraphs(err)
		err = d.queueKept()
	}
	if err != nil {
		d.Fail(err)
	}
	return err
}

// withoutGraphs has the rest of the step queued as without graphs, and says so the
// first time.
func (d *Device) withoutGraphs(why error) {
	g := &d.graphs
	g.plain = true
	if !g.noticed && d.notice != nil {
		d.notice(fmt.Sprintf("%s: a step is queued without graphs, which the driver did not make: %v", d.Name(), why))
	}
	g.noticed = true
}

// launchCaptured launches a graph of what was captured. It reports whether the
// driver made one: with an error and without a graph, nothing has run.
func (d *Device) launchCaptured() (made bool, err error) {
	f := newFrame()
	defer f.release()
	if err := d.do(cuStreamEndCapture, d.compute, f.at(0)); err != nil {
		return false, err
	}
	graph := uintptr(f.words[0])
	exec, err := d.executable(graph)
	if err == nil {
		// The first launch takes memory, and launches nothing without it.
		err = d.do(cuGraphLaunch, exec, d.compute)
		made = !errors.Is(err, alloc.ErrNoMemory)
		d.graphs.next++
	}
	if failed := d.do(cuGraphDestroy, graph); err == nil {
		err = failed
	}
	return made, err
}

// executable returns a graph in the form that the driver runs: that of the step
// before with its arguments changed, or a new one.
func (d *Device) executable(graph uintptr) (uintptr, error) {
	g := &d.graphs
	if g.next == len(g.list) {
		g.list = append(g.list, 0)
	}
	exec := &g.list[g.next]
	f := newFrame()
	defer f.release()
	if *exec != 0 {
		// The result's three words say what differs.
		r := d.Call(cuGraphExecUpdate, *exec, graph, f.at(0)+unsafe.Offsetof(f.bytes))
		if r == success {
			return *exec, nil
		}
		if r.EndsContext() {
			return 0, d.failure(cuGraphExecUpdate, r)
		}
		old := *exec
		*exec = 0
		if err := d.do(cuGraphExecDestroy, old); err != nil {
			return 0, err
		}
	}
	if err := d.do(cuGraphInstantiate, f.at(0), graph, 0); err != nil {
		return 0, err
	}
	*exec = uintptr(f.words[0])
	return *exec, nil
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
		if err == nil && exec != 0 {
			err = d.note(d.do(cuGraphExecDestroy, exec))
		}
	}
	g.list = nil
	return err
}
