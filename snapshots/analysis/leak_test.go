package analysis

import (
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// habit is something that a made run does in every step, beside training.
type habit struct {
	// leaks says that it never gives back what it takes; slowly that this takes
	// more than twenty steps to be seen.
	leaks, slowly bool
	category      string
	// step is called in every step, counted from 1; state is its own.
	step func(h *doing, step int)
}

// doing is a habit in a run.
type doing struct {
	*maker
	random *rand.Rand
	tag    trace.NoteID
	stack  trace.StackID
	kept   []uint64
	keys   map[int]bool
}

func (d *doing) keep(size int64) { d.kept = append(d.kept, d.get(d.tag, d.stack, size)) }

// release frees the oldest n of what is kept.
func (d *doing) release(n int) {
	n = min(n, len(d.kept))
	d.drop(d.kept[:n]...)
	d.kept = d.kept[n:]
}

// lookup keeps something for a key that is new.
func (d *doing) lookup(key int, size int64) {
	if !d.keys[key] {
		d.keys[key] = true
		d.keep(size)
	}
}

func every(n int, do func(d *doing)) func(d *doing, step int) {
	return func(d *doing, step int) {
		if step%n == 0 {
			do(d)
		}
	}
}

var habits = map[string]habit{
	"leak: one a step":               {true, false, "workspace", every(1, func(d *doing) { d.keep(4096) })},
	"leak: three a step":             {true, false, "other", every(1, func(d *doing) { d.keep(64); d.keep(512); d.keep(1 << 20) })},
	"leak: activations of any shape": {true, false, "activation", every(1, func(d *doing) { d.keep(1 + d.random.Int64N(1<<20)) })},
	"leak: gradients":                {true, false, "gradient", every(1, func(d *doing) { d.keep(1 << 16) })},
	"leak: tiny losses":              {true, false, "activation", every(1, func(d *doing) { d.keep(4) })},
	"leak: among what is freed":      {true, false, "activation", func(d *doing, _ int) { d.keep(4096); d.drop(d.get(d.tag, d.stack, 4096), d.get(d.tag, d.stack, 8192)) }},
	"leak: beside a double buffer": {true, true, "input", func(d *doing, step int) {
		d.get(d.tag, d.stack, 4096)
		if d.keep(512); step%2 == 0 {
			d.release(2)
		}
	}},
	"leak: every fourth step": {true, true, "workspace", every(4, func(d *doing) { d.keep(4096) })},
	"leak: now and then": {true, true, "workspace", func(d *doing, _ int) {
		if d.random.IntN(2) == 0 {
			d.keep(4096)
		}
	}},

	"steady":                       {false, false, "workspace", func(d *doing, step int) { d.once(step, 5) }},
	"made and freed in each step":  {false, false, "activation", every(1, func(d *doing) { d.keep(1 << 20); d.release(1) })},
	"freed in the next step":       {false, false, "activation", every(1, func(d *doing) { d.release(1); d.keep(1 << 20) })},
	"other shapes in each step":    {false, false, "input", every(1, func(d *doing) { d.release(1); d.keep(1 + d.random.Int64N(1<<20)) })},
	"growing shapes":               {false, false, "input", func(d *doing, step int) { d.release(2); d.keep(int64(step) << 12); d.keep(int64(step) << 12) }},
	"a queue of random length":     {false, false, "input", func(d *doing, _ int) { d.keep(4096); d.keep(4096); d.release(d.random.IntN(5)) }},
	"a window of ten":              {false, false, "other", func(d *doing, step int) { d.keep(4096); d.release(max(0, len(d.kept)-10)) }},
	"the last dozen losses":        {false, false, "activation", func(d *doing, step int) { d.keep(4); d.release(max(0, len(d.kept)-12)) }},
	"a cache of 12 keys":           {false, false, "workspace", func(d *doing, step int) { d.lookup(step%12, 4096) }},
	"a cache of 4 random keys":     {false, false, "workspace", func(d *doing, _ int) { d.lookup(d.random.IntN(4), 4096) }},
	"a cache of 16 random keys":    {false, false, "workspace", func(d *doing, _ int) { d.lookup(d.random.IntN(16), 4096) }},
	"a cache of 32 random keys":    {false, false, "workspace", func(d *doing, _ int) { d.lookup(d.random.IntN(32), 4096) }},
	"a cache of 200, 20 at a time": {false, false, "workspace", func(d *doing, _ int) { d.lookups(20, 200) }},
	"a cache by shape":             {false, false, "workspace", func(d *doing, step int) { d.lookup(step, int64(step)*512) }},
	"flushed every eighth step": {false, false, "other", func(d *doing, step int) {
		if d.keep(4096); step%8 == 0 {
			d.release(8)
		}
	}},
	"evaluation every tenth step": {false, false, "activation", func(d *doing, step int) {
		d.release(3)
		if step%10 == 0 {
			d.keep(1 << 20)
			d.keep(1 << 20)
		}
	}},
	"accumulated over four steps": {false, false, "gradient", func(d *doing, step int) {
		if d.keep(4096); step%4 == 0 {
			d.release(4)
		}
	}},
	"state of a new optimizer": {false, false, "optimizer", func(d *doing, step int) { d.toggled(step, 15) }},
	"layers unfrozen one by one": {false, false, "optimizer", func(d *doing, step int) {
		if step%8 == 0 && step <= 40 {
			d.keep(4096)
			d.keep(4096)
		}
	}},
	"averaged weights, three times": {false, false, "parameter", func(d *doing, step int) {
		if step == 10 || step == 20 || step == 30 {
			d.keep(1 << 20)
		}
	}},
}

// once keeps something in one step.
func (d *doing) once(step, at int) {
	if step == at {
		d.keep(1 << 20)
	}
}

// toggled keeps ten things when a setting changes.
func (d *doing) toggled(step, at int) {
	if step == at {
		for range 10 {
			d.keep(4096)
		}
	}
}

func (d *doing) lookups(n, keys int) {
	for range n {
		d.lookup(d.random.IntN(keys), 512)
	}
}

// outcome is what was said of a habit's site.
type outcome struct {
	named  int64     // the first step after which it was called a leak, 0 for never
	alarms int       // after how many steps it was
	last   leak.Site // what was said at the end
}

const madeSteps = 60

// practise makes a run with a habit and asks after each step.
func practise(h habit, seed uint64, stacks bool, late int) outcome {
	m := newMaker()
	d := &doing{maker: m, random: rand.New(rand.NewPCG(seed, 5)), keys: make(map[int]bool)}
	d.tag = m.tag(h.category, "habits", "kept")
	if stacks {
		d.stack = m.stack(7)
	}
	weights := m.tag("parameter", "blocks.0", "weight")
	for range 20 {
		m.get(weights, 0, 1<<16)
	}
	activations := m.tag("activation", "blocks.0", "output")
	ends := []int{}
	for step := 1; step <= madeSteps+late; step++ {
		if step == late+1 && late > 0 {
			m.attach()
			ends = ends[:0]
		}
		m.run(func() {
			made := []uint64{m.get(activations, 0, 1<<20), m.get(activations, 0, 1<<20)}
			h.step(d, step)
			m.drop(made...)
		})
		ends = append(ends, m.log.Len()-1)
	}
	tr := m.trace()
	x := NewIndex(tr, &tr.Devices[0])
	var out outcome
	for k, at := range ends {
		for _, s := range x.Sites(at) {
			if s.Name[:6] != "habits" {
				continue
			}
			if s.Trend >= leak.Suspected {
				out.alarms++
				if out.named == 0 {
					out.named = int64(k + 1)
				}
			}
			out.last = s
		}
	}
	return out
}

// TestLeaksAreToldFromWhatLooksLikeThem makes runs with one habit each, many
// times, and counts how often the right thing is said.
func TestLeaksAreToldFromWhatLooksLikeThem(t *testing.T) {
	fatal.IfShort(t)
	runs := int(seeds(20))
	var right, missed, wrong, passing int
	for name, h := range habits {
		named, alarmed, most := 0, 0, int64(0)
		for seed := range uint64(runs) {
			o := practise(h, seed, seed%2 == 0, int(seed%3)*7)
			switch ended := o.last.Trend >= leak.Suspected; {
			case h.leaks && ended:
				named++
			case h.leaks:
				missed++
				t.Logf("%s, seed %d: not named: %s: %s", name, seed, o.last.Trend, o.last.Reason)
			case ended:
				wrong++
				t.Logf("%s, seed %d: called a leak: %s", name, seed, o.last.Reason)
			case o.alarms > 0:
				passing++
				t.Logf("%s, seed %d: called a leak after %d steps, from step %d on", name, seed, o.alarms, o.named)
			}
			if o.alarms > 0 {
				alarmed++
			}
			most = max(most, o.named)
		}
		right += named
		if h.leaks && !h.slowly && most > 20 {
			t.Errorf("%s: named only after %d steps", name, most)
		}
		t.Logf("%-40s called a leak in %d of %d runs, at the latest after %d steps", name, alarmed, runs, most)
	}
	precision := float64(right) / float64(max(1, right+wrong))
	recall := float64(right) / float64(max(1, right+missed))
	if precision < 0.99 || recall < 0.93 || passing > runs/4 {
		t.Errorf("too many mistakes")
	}
	t.Logf("precision %.3f, recall %.3f, %d passing alarms, over %d runs", precision, recall, passing, runs*len(habits))
}
