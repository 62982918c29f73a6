package analysis

import (
	"sync"

	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// Index answers questions about one device of a trace. One goroutine owns it
// while it is made or advanced; in between, any number of goroutines may read it.
type Index struct {
	*record
	levels
	mapper
	kept answers
}

// answers holds the answers that are computed at the first question.
type answers struct {
	summary    lasting[Summary]
	categories lasting[*category.Judge]
	judging    func() *category.Judge // returns the first judge, which was begun early; nil for none
	byCategory lasting[*series]
	marks      lasting[[]Mark]
	graphs     lasting[*Graphs]
	steps      lasting[*stepList]
	calendar   lasting[*calendar]
	ooms       lasting[[]OOM]
	growth     lasting[[]Growth]
	findings   lasting[[]Finding]
	folded     lasting[*lines.Code]
	sites      lasting[*leak.Sites]
	history    lasting[pastSteps]
	sitesNow   lasting[[]leak.Site]
	peak       lasting[*heldFacts]
	words      lasting[*savings.Words]
	pinnedBy   lasting[string]
	passes     lasting[[]int]
}

// NewIndex reads the device's whole trace.
func NewIndex(t *trace.Trace, device *trace.Device) *Index {
	x := newIndex(device)
	x.Advance(t, device)
	return x
}

// Indexes returns the index of every device.
func Indexes(t *trace.Trace) []*Index {
	all := make([]*Index, len(t.Devices))
	for i := range t.Devices {
		all[i] = NewIndex(t, &t.Devices[i])
	}
	return all
}

func newIndex(device *trace.Device) *Index {
	r := &record{life: trace.NewLifetimes(), others: make(map[trace.NoteID]int)}
	x := &Index{record: r, levels: levels{record: r}, mapper: mapper{record: r}}
	if device.Base != nil {
		x.life.Begin(device.Base)
		x.stacks.addBlocks(device.Base)
	}
	return x
}

// Advance takes a longer trace of the same device and reads its new events.
// The index must not be read meanwhile.
func (x *Index) Advance(t *trace.Trace, device *trace.Device) { x.advance(t, device, func() {}) }

// advance is Advance with a callback: it calls replayed as soon as the lifetimes
// of the new events are known, and goes on when replayed returns.
func (x *Index) advance(t *trace.Trace, device *trace.Device, replayed func()) {
	x.version++
	x.trace, x.device, x.tables, x.events = t, device, t.Tables, device.Events
	x.uncached = trace.NewGeometry(t.Settings).Uncached
	var counted sync.WaitGroup
	counted.Go(x.countEvents) // it reads nothing of life
	x.life.Replay(device.Events)
	replayed()
	x.life.Mark()
	var held []trace.Held
	counted.Go(func() { held = x.life.Unmentioned(&device.Final) })
	x.readEvents()
	counted.Wait()
	x.life.Hold(held)
	x.settle(x.life, &device.Final)
	if device.Base == nil {
		x.stacks.addBlocks(&device.Final)
	}
}
