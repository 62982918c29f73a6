package analysis

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// stream is a trace that comes in pieces: the states are those after so many
// events, where they are known.
type stream struct {
	trace  *trace.Trace
	base   trace.State
	events trace.Events
	states map[int]trace.State
	tables map[int]*trace.Tables // as they were at the same moments
}

// after returns the trace as it is after n events.
func (s *stream) after(n int) (*trace.Trace, *trace.Device) {
	t := *s.trace
	t.Tables = s.tables[n]
	t.Devices = []trace.Device{{Base: &s.base, Events: s.events.Slice(0, n), Final: s.states[n]}}
	for i := range t.Steps {
		if t.Steps[i].Number > int64(n/40) {
			t.Steps = t.Steps[:i]
			break
		}
	}
	return &t, &t.Devices[0]
}

// moments returns the numbers of events after which the state is known.
func (s *stream) moments() []int {
	var all []int
	for n := range s.states {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// randomStream makes a stream of what a random program does: as our own engine
// tells it, with tags, steps, changed settings and lost memory.
func randomStream(seed uint64) *stream {
	r := rand.New(rand.NewPCG(seed, 77))
	states := map[int]trace.State{0: {}}
	o := pytorchtest.Options{Seed: seed, Operations: 900, Expandable: seed%3 == 0, FreeSites: seed%2 == 0}
	o.Watch = func(_, event int, s trace.State) { states[event+1] = s }
	t := pytorchtest.Random(o)
	from := &t.Devices[0].Events
	cut := 0
	for n := range states {
		if n < from.Len()/3 && n > cut && seed%4 > 0 {
			cut = n // attached to late: what is held then comes from the base
		}
	}
	s := &stream{trace: t, states: make(map[int]trace.State), tables: make(map[int]*trace.Tables)}
	var log trace.EventLog
	in := trace.NewInterner()
	w := streamWriter{random: r, in: in, adopt: in.Adopt(t.Tables), log: &log, tagged: seed%5 > 0}
	s.base = w.adopt.State(states[cut])
	for i := cut; i <= from.Len(); i++ {
		if state, ok := states[i]; ok {
			s.states[log.Len()] = w.adopt.State(state)
			tables := w.in.View()
			s.tables[log.Len()] = &tables
		}
		if i < from.Len() {
			w.write(*from.At(i))
		}
	}
	s.events = log.Events()
	for i := range t.Annotations {
		a := &t.Annotations[i]
		a.Name, a.Stage = in.String(t.Tables.String(a.Name)), in.String(t.Tables.String(a.Stage))
	}
	if w.tagged {
		s.trace.Annotations = nil
	} else {
		for n := range s.tables { // annotations are known from the start
			tables := w.in.View()
			s.tables[n] = &tables
		}
	}
	for n := range int64(s.events.Len()) / 40 {
		s.trace.Steps = append(s.trace.Steps, trace.Step{Number: n + 1, PeakAllocated: n * 100, Duration: 1 + n})
	}
	return s
}

// streamWriter copies events, interning anew what they refer to, and puts others
// between them.
type streamWriter struct {
	random *rand.Rand
	in     *trace.Interner
	adopt  *trace.Adoption
	log    *trace.EventLog
	tagged bool
	step   int64
	last   uint64
}

// tag returns one of the notes of our own engine.
func (w *streamWriter) tag() trace.NoteID {
	n := streamNotes[w.random.IntN(len(streamNotes))]
	return w.in.Note(trace.Note{Category: w.in.String(n.category), Layer: w.in.String(n.layer), Role: w.in.String(n.role)})
}

var streamNotes = []struct{ category, layer, role string }{
	{"parameter", "blocks.0.attn", "weight"},
	{"activation", "blocks.0.attn", "output"},
	{"activation", "blocks.1.attn", "output"},
	{"workspace", "", "scratch"},
	{"optimizer", "blocks.0.attn", "exp_avg"},
}

func (w *streamWriter) write(e trace.Event) {
	e = w.adopt.Event(&e)
	if w.tagged && e.Kind == trace.Alloc {
		e.Note = w.tag()
		w.last = e.Addr
		if w.random.IntN(3) == 0 {
			e.Stack = 0
		}
	}
	w.log.Append(e)
	if !w.tagged {
		return
	}
	switch w.random.IntN(30) {
	case 0:
		w.step++
		w.log.Append(trace.Event{Kind: trace.StepBegin, Size: w.step, Time: e.Time})
	case 1:
		w.log.Append(trace.Event{Kind: trace.StepEnd, Size: w.step, Time: e.Time})
	case 2:
		w.log.Append(trace.Event{Kind: trace.SettingChanged, Size: w.step + 1, Time: e.Time})
	case 3:
		w.log.Append(trace.Event{Kind: trace.Lost, Addr: w.last, Time: e.Time})
	case 4:
		w.log.Append(trace.Event{Kind: trace.Retag, Addr: w.last, Note: w.tag(), Time: e.Time})
	}
}

// everyQuestion returns a question of each kind about a moment.
func everyQuestion(x *Index, at int) map[string]func() any {
	n := x.End() + 1
	return map[string]func() any{
		"summary":              func() any { return x.Summary() },
		"requested":            func() any { return x.RequestedAt(at) },
		"reserved":             func() any { return x.ReservedAt(at) },
		"alive":                func() any { return x.AliveAt(at) },
		"holders":              func() any { return x.HoldersAt(at) },
		"categories":           func() any { return x.CategoriesAt(at) },
		"timeline by category": func() any { return x.Timeline(at/2, n, 40) },
		"timeline by tensor":   func() any { line := x.Timeline(at/3, n, 40); line.SplitByAllocation(x, 10); return line },
		"timeline by time":     func() any { return x.TimelineByTime(0, n, 40) },
		"segments":             func() any { return x.SegmentsAt(at) },
		"segments at the end":  func() any { return x.SegmentsAt(n) },
		"stacks":               func() any { return x.Stacks(at, StackOptions{HideRuntime: true}) },
		"steps":                func() any { return x.Steps() },
		"setting changes":      func() any { return x.SettingChanges(at / 2) },
		"marks":                func() any { return x.Marks() },
		"ooms":                 func() any { return x.OOMs() },
		"growth":               func() any { return x.Growth() },
		"findings":             func() any { return x.Findings() },
		"tensors":              func() any { return x.Tensors(at) },
		"sites":                func() any { return x.Sites(at) },
		"sites at the end":     func() any { return x.Sites(n) },
		"waterfall":            func() any { return x.Waterfall(at, nil) },
		"gauge":                func() any { return x.GaugeAt(at) },
	}
}

func TestAnIndexAdvancedInPiecesAnswersLikeOneMadeAtOnce(t *testing.T) {
	fatal.IfShort(t)
	for seed := range seeds(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := randomStream(seed)
			r := rand.New(rand.NewPCG(seed, 78))
			moments := s.moments()
			grown := NewIndex(s.after(moments[0]))
			for _, n := range moments[1:] {
				if r.IntN(40) > 0 && n != moments[len(moments)-1] {
					continue
				}
				grown.Advance(s.after(n))
				compareIndexes(t, grown, NewIndex(s.after(n)), r, n == moments[len(moments)-1])
			}
		})
	}
}

// compareIndexes asks both about a random moment: some questions, or all.
func compareIndexes(t *testing.T, grown, whole *Index, r *rand.Rand, all bool) {
	t.Helper()
	at := r.IntN(whole.End()+2) - 1
	wants := everyQuestion(whole, at)
	for name, ask := range everyQuestion(grown, at) {
		if !all && r.IntN(3) > 0 {
			continue
		}
		got, want := ask(), wants[name]()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s at %d of %d:\n got %+v\nwant %+v", name, at, whole.End(), got, want)
		}
	}
}
