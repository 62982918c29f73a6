package cudatest

import (
	"slices"

	"github.com/memtop/memtop/engine/device/cuda"
)

// graph is work that was captured, or an executable made of it. Capturing runs
// nothing: the work runs when the executable is launched, in the order of its
// stream.
type graph struct {
	names   []string // of the work, which may change without them
	work    []func() cuda.Result
	invalid bool // something was called that a capture does not allow
}

// The results of captures.
const (
	captureUnsupported cuda.Result = 900
	captureInvalidated cuda.Result = 901
	graphUpdateFailed  cuda.Result = 910
)

func (g *graph) add(name string, work func() cuda.Result) {
	g.names, g.work = append(g.names, name), append(g.work, work)
}

// refuse is the answer to a call that a capture does not allow, and its end.
func (g *graph) refuse() cuda.Result {
	g.invalid = true
	return captureUnsupported
}

// captured returns what a stream's capture holds, nil without a capture.
func (d *Driver) captured() *graph {
	for _, s := range d.streams {
		if s.graph != nil {
			return s.graph
		}
	}
	return nil
}

// Capturing reports whether a stream is captured.
func (d *Driver) Capturing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.captured() != nil
}

// endCaptures ends all captures, and loses what they hold.
func (d *Driver) endCaptures() {
	for _, s := range d.streams {
		s.graph = nil
	}
}

func (d *Driver) streamSynchronize(a []uintptr) cuda.Result {
	s := d.stream(a[0])
	if s.graph != nil {
		return s.graph.refuse()
	}
	return s.run(-1)
}

// relaxed lets other threads go on as usual during a capture.
const relaxed = 2

func (d *Driver) beginCapture(a []uintptr) cuda.Result {
	s := d.stream(a[0])
	if s.graph != nil || a[1] != relaxed {
		return invalidValue
	}
	s.graph = new(graph)
	return success
}

func (d *Driver) endCapture(a []uintptr) cuda.Result {
	s := d.stream(a[0])
	g := s.graph
	s.graph = nil
	switch {
	case g == nil:
		return invalidValue
	case g.invalid:
		return captureInvalidated
	}
	put64(a[1], d.keepGraph(g))
	return success
}

func (d *Driver) keepGraph(g *graph) uint64 {
	h := d.handle()
	d.graphs[h] = g
	return h
}

func (d *Driver) instantiate(a []uintptr) cuda.Result {
	g, ok := d.graphs[uint64(a[1])]
	if !ok {
		return invalidValue
	}
	made := *g
	put64(a[0], d.keepGraph(&made))
	return success
}

// updateGraph changes what later launches do, if the work is of the same kind.
func (d *Driver) updateGraph(a []uintptr) cuda.Result {
	exec, g := d.graphs[uint64(a[0])], d.graphs[uint64(a[1])]
	switch {
	case exec == nil || g == nil:
		return invalidValue
	case !slices.Equal(exec.names, g.names):
		return graphUpdateFailed
	}
	*exec = *g
	return success
}

func (d *Driver) launchGraph(a []uintptr) cuda.Result {
	g, s := d.graphs[uint64(a[0])], d.stream(a[1])
	if g == nil || s.graph != nil {
		return invalidValue
	}
	for i, work := range g.work {
		if r := s.push(g.names[i], work); r != success {
			return r
		}
	}
	return success
}

func (d *Driver) destroyGraph(a []uintptr) cuda.Result {
	if d.graphs[uint64(a[0])] == nil {
		return invalidValue
	}
	delete(d.graphs, uint64(a[0]))
	return success
}
