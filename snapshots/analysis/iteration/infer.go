package iteration

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// Evidence is the kind of events from which steps were inferred.
type Evidence uint8

// The kinds of evidence.
const (
	None Evidence = iota
	Optimizer
	ZeroGrad
	Backward
)

// String names the evidence.
func (e Evidence) String() string {
	return [...]string{"nothing", "optimizer steps", "zero_grad", "backward passes"}[e]
}

// Span has the events [From, To) of one step.
type Span struct{ From, To int }

// Trace is the data from which steps are inferred.
type Trace struct {
	Events trace.Events
	Tables *trace.Tables
	Code   *lines.Code
}

// Infer returns the steps of a trace, in order and without overlap. It looks at
// each event a few times at most.
func Infer(t Trace) ([]Span, Evidence) {
	w := newWalk(t)
	w.read()
	steps, clears := ends(w.steps), w.between(mostVisited(w.clears))
	switch {
	case len(steps) == 0 && len(w.steps) > 0:
		return nil, None // memory ran out in the first: no step came to its end
	case len(steps) > 0 && len(clears) < 2*len(steps):
		return steps, Optimizer
	case len(clears) > 0:
		return clears, ZeroGrad
	case len(w.backward) > 0 && len(w.forward) > 0:
		return w.passed(), Backward
	}
	return nil, None
}

// visit is a run of events of one kind that came from one line.
type visit struct {
	caller   trace.FrameID // 0 where that is not known
	from, to int           // its first and last event
	short    bool          // memory ran out in it
}

// walk reads the events once and notes the visits.
type walk struct {
	Trace
	calls    []call // by stack
	steps    []visit
	clears   []visit
	backward []visit
	passes   []int // the first events of forward and backward passes
	forward  []int // of forward passes
	pass     role  // the last one begun
	// between visits: what came since the last event of each kind
	stepDone, clearDone bool
}

func newWalk(t Trace) *walk {
	w := &walk{Trace: t, calls: make([]call, t.Tables.StackCount())}
	for id := range w.calls {
		w.calls[id] = callOf(t.Tables, t.Code, trace.StackID(id))
	}
	return w
}

func (w *walk) read() {
	for i, e := range w.Events.Range(0, w.Events.Len()) {
		if e.Stack <= trace.EmptyStack {
			continue
		}
		switch c := &w.calls[e.Stack]; {
		case e.Kind == trace.Alloc, e.Kind == trace.FreeRequested, e.Kind.Closes():
			w.event(i, c)
		case e.Kind == trace.OOM && c.role == step:
			w.event(i, c)
			w.steps[len(w.steps)-1].short = true
		}
	}
}

func (w *walk) event(i int, c *call) {
	switch c.role {
	case step:
		w.steps, w.stepDone = extend(w.steps, c.caller, i, w.stepDone), false
	case clears:
		w.clears, w.clearDone = extend(w.clears, c.caller, i, w.clearDone), false
	case backward:
		w.backward = extend(w.backward, 0, i, w.pass != backward)
		w.begin(i, backward)
	case forward:
		w.begin(i, forward)
	case other:
	}
}

// begin notes a pass through the model. Visits to an optimizer before and after
// it are two.
func (w *walk) begin(i int, pass role) {
	w.stepDone, w.clearDone = true, true
	if w.pass != pass {
		w.passes = append(w.passes, i)
		if w.pass = pass; pass == forward {
			w.forward = append(w.forward, i)
		}
	}
}

// extend adds an event to the last visit, or begins another one.
func extend(visits []visit, caller trace.FrameID, i int, another bool) []visit {
	if n := len(visits); n > 0 && !another && visits[n-1].caller == caller {
		visits[n-1].to = i
		return visits
	}
	return append(visits, visit{caller: caller, from: i, to: i})
}

// mostVisited returns the visits from the line that most come from and, of lines
// that as many come from, the one that is last in a step.
func mostVisited(visits []visit) []visit {
	count := make(map[trace.FrameID]int)
	var best trace.FrameID
	for _, v := range visits {
		if count[v.caller]++; count[v.caller] >= count[best] {
			best = v.caller
		}
	}
	return slices.DeleteFunc(slices.Clone(visits), func(v visit) bool { return v.caller != best })
}

// ends returns the steps that end with visits from one line in which memory was enough.
func ends(visits []visit) []Span {
	var found []Span
	from := 0
	for _, v := range mostVisited(visits) {
		if !v.short {
			found = append(found, Span{from, v.to + 1})
			from = v.to + 1
		}
	}
	return found
}

// passed returns the stretches from each first forward pass after a backward pass
// to the next.
func (w *walk) passed() []Span {
	found := make([]Span, len(w.backward))
	from, next := 0, 0
	for i, v := range w.backward {
		for next < len(w.forward) && w.forward[next] < v.to {
			next++
		}
		to := w.Events.Len()
		if next < len(w.forward) {
			to = w.forward[next]
		}
		found[i] = Span{from, to}
		from = to
	}
	return found
}

// between returns the stretches before, between and after visits that have a pass
// through the model.
func (w *walk) between(visits []visit) []Span {
	var found []Span
	from, pass := 0, 0
	add := func(to int) {
		if pass < len(w.passes) && w.passes[pass] < to {
			found = append(found, Span{from, to})
		}
		for pass < len(w.passes) && w.passes[pass] < to {
			pass++
		}
		from = to
	}
	for _, v := range visits {
		add(v.from)
	}
	if len(visits) > 0 {
		add(w.Events.Len())
	}
	return found
}
