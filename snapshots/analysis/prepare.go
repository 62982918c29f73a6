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
	x.advance(t, device, func() { x.kept.judging = x.beginJudging() })
	var work sync.WaitGroup
	work.Go(func() { x.segmentHistory() })
	x.peakFacts()
	work.Wait()
	return x
}

// beginJudging begins to judge the allocations that the events made. It returns a
// function that returns the judge, to be called when all other data is known.
func (x *Index) beginJudging() func() *category.Judge {
	j, rest := category.NewJudge(), make(chan func(), 1)
	tables, events, life, held := x.tables, x.events, x.life, x.life.Held
	go func() { rest <- j.Begin(tables, events, life, held) }()
	return func() *category.Judge {
		(<-rest)()
		return j
	}
}
