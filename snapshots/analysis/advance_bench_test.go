package analysis

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// BenchmarkAdvance measures what a page costs each time that a running program
// of two million events tells of a thousand more: taking them, and answering what
// the page asks about the newest moment.
func BenchmarkAdvance(b *testing.B) {
	const width = 120
	overview := func(x *Index) {
		at := x.End()
		x.Summary()
		x.CategoriesAt(at)
		x.HoldersAt(at)
		x.Waterfall(at, nil)
		x.Timeline(ByCategory, 0, at+1, width)
	}
	pages := []struct {
		name string
		ask  func(x *Index)
	}{
		{"Nothing", func(*Index) {}},
		{"Overview", overview},
		{"Findings", func(x *Index) { x.Findings() }},
		{"Timeline", func(x *Index) { x.TimelineByTime(ByCategory, x.End()/2, x.End()+1, width) }},
		{"TimelineByStack", func(x *Index) { x.Timeline(ByStack, x.End()/2, x.End()+1, width) }},
		{"Layers", func(x *Index) { Layers(x.Trace(), 0) }},
		{"Tensors", func(x *Index) { x.Tensors(x.End()) }},
		{"Sites", func(x *Index) { x.Sites(x.End()) }},
		{"All", func(x *Index) {
			overview(x)
			x.Steps()
			x.Tensors(x.End())
			x.Sites(x.End())
			x.TimelineByTime(ByCategory, x.End()/2, x.End()+1, width)
		}},
	}
	for _, p := range pages {
		b.Run(p.name, func(b *testing.B) {
			s := longStream()
			n := s.events.Len() * 9 / 10 / 1000 * 1000
			x := NewIndex(s.after(n))
			p.ask(x)
			b.Logf("%d events, %d alive", n, len(x.AliveAt(x.End())))
			b.ReportAllocs()
			for b.Loop() {
				if n += 1000; n > s.events.Len() {
					b.StopTimer()
					n = s.events.Len() * 9 / 10 / 1000 * 1000
					x = NewIndex(s.after(n))
					p.ask(x)
					b.StartTimer()
				}
				x.Advance(s.after(n))
				p.ask(x)
			}
		})
	}
}

// longStream is two million events of a model of 40 layers, each step of which
// makes ten thousand tensors.
var longStream = sync.OnceValue(func() *stream {
	const layers, perLayer, steps = 40, 250, 100
	m := newMaker()
	for l := range layers {
		weight, moment := m.tag("parameter", fmt.Sprint("blocks.", l), "weight"), m.tag("optimizer", fmt.Sprint("blocks.", l), "exp_avg")
		for i := range 25 {
			m.get(weight, m.stack(i), 1<<16)
			m.get(moment, m.stack(100+i), 1<<16)
		}
	}
	for range steps {
		m.run(func() {
			var saved []uint64
			for l := range layers {
				output := m.tag("activation", fmt.Sprint("blocks.", l), "output")
				for i := range perLayer / 2 {
					m.drop(m.get(output, m.stack(200+i), int64(1+i)<<10))
					saved = append(saved, m.get(output, m.stack(400+i), int64(1+i)<<10))
				}
			}
			slices.Reverse(saved)
			m.drop(saved...)
		})
	}
	t := m.trace()
	d := &t.Devices[0]
	s := &stream{trace: t, base: *d.Base, events: d.Events, states: make(map[int]trace.State), tables: make(map[int]*trace.Tables)}
	for n := range d.Events.Len() + 1 {
		if n%1000 == 0 {
			s.states[n], s.tables[n] = d.Final, t.Tables
		}
	}
	return s
})
