package analysis

import (
	"sync"

	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/trace"
)

// Prepared is NewIndex that also computes, on several processors at once, the
// data that most answers of a report need. The answers come sooner and are the
// same.
func Prepared(t *trace.Trace, device *trace.Device) *Index {
	x := newIndex(device)
	replayed := make(chan []trace.Held, 1)
	x.kept.judging = beginJudging(t.Tables, device.Events, x.life, replayed)
	x.advance(t, device, func() { replayed <- x.life.Held })
	var work sync.WaitGroup
	work.Go(func() { x.segmentHistory() })
	x.peakFacts()
	work.Wait()
	return x
}

// beginJudging begins to judge the allocations that the events made, as far as it can
// before the lifetimes are replayed. It returns a function that returns the judge, to
// be called when all other data is known.
func beginJudging(tables *trace.Tables, events trace.Events, life *trace.Lifetimes, replayed <-chan []trace.Held) func() *category.Judge {
	j, rest := category.NewJudge(), make(chan func(), 1)
	go func() { rest <- j.Begin(tables, events, life, func() []trace.Held { return <-replayed }) }()
	return func() *category.Judge {
		(<-rest)()
		return j
	}
}
