package analysis

import (
	"sync"

	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/trace"
)

// Prepared is NewIndex that finds besides, on several processors at once, what most that
// a report says is made of. Answers come sooner for it, and are the same.
func Prepared(t *trace.Trace, device *trace.Device) *Index {
	x := newIndex(device)
	x.advance(t, device, func() { x.kept.judging = x.beginJudging() })
	var work sync.WaitGroup
	work.Go(func() { x.segmentHistory() })
	x.peakFacts()
	work.Wait()
	return x
}

// beginJudging begins to judge what the events made, and returns how to get the judge when all
// else is known.
func (x *Index) beginJudging() func() *category.Judge {
	j, rest := category.NewJudge(), make(chan func(), 1)
	tables, events, life, held := x.tables, x.events, x.life, x.life.Held
	go func() { rest <- j.Begin(tables, events, life, held) }()
	return func() *category.Judge {
		(<-rest)()
		return j
	}
}
