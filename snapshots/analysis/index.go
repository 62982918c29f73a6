package analysis

import (
	"sync"

	"memtop/snapshots/trace"
)

// Index answers questions about one device of a trace. It is owned by one
// goroutine while it is made or advanced; in between any number may read it.
type Index struct {
	trace  *trace.Trace
	device *trace.Device
	events trace.Events
	tables *trace.Tables
	life   *trace.Lifetimes
	levels levels
	// displaced maps an alloc event to the allocation it ended by taking its
	// address. It is empty for every trace that an allocator wrote.
	displaced map[int32]trace.AllocationID
	kinds     [trace.KindCount]int
	others    map[trace.NoteID]int // events of kind Other, by note
	stacks    seenStacks
	// segmentEvents lists the events that change reserved memory.
	segmentEvents []int32
	oomEvents     []int32
	// programEvents lists those of steps and settings, and what was lost.
	programEvents []int32
	version       int
	numbered      *sites // nil until asked for
	lazy          *lazy
}

// lazy holds what is computed when first asked for.
type lazy struct {
	sitesOnce  sync.Once
	sumOnce    sync.Once
	summary    Summary
	rules      sync.Once
	categories *classifier
	byCategory onceSeries
	byStack    onceSeries
	topStacks  []trace.StackID
	ranges     sync.Once
	replay     *ranges
	marksOnce  sync.Once
	marks      []Mark
	stepsOnce  sync.Once
	steps      []Step
	oomOnce    sync.Once
	ooms       []OOM
	growthOnce sync.Once
	growth     []Growth
	findOnce   sync.Once
	findings   []Finding
	barsOnce   sync.Once
	bars       *bars
	restsOnce  sync.Once
	rests      *rests
	liveOnce   sync.Once
	live       []finalBlock
	finalOnce  sync.Once
	final      *Map
	fold       sync.Once
	folded     *folding
}

// NewIndex reads the device's whole trace.
func NewIndex(t *trace.Trace, device *trace.Device) *Index {
	x := &Index{life: trace.NewLifetimes(), others: make(map[trace.NoteID]int)}
	x.Advance(t, device)
	return x
}

// Version grows with every Advance: answers of one version fit together.
func (x *Index) Version() int { return x.version }

// Continues reports whether a device has all of the index's events and maybe
// more, so that Advance may take it. A device that dropped old events has not.
func (x *Index) Continues(device *trace.Device) bool {
	return device.ID == x.device.ID && device.First == x.device.First && device.Events.Len() >= x.events.Len()
}

// Advance takes a longer trace of the same device and reads its new events.
// Nobody may read the index meanwhile.
func (x *Index) Advance(t *trace.Trace, device *trace.Device) {
	x.version++
	x.trace, x.device, x.tables, x.events = t, device, t.Tables, device.Events
	x.lazy = new(lazy)
	x.life.Advance(device.Events)
	x.life.Finish(&device.Final)
	x.displaced = findDisplaced(x.life)
	x.readEvents()
	x.levels.settle(x.life, &device.Final)
	x.stacks.addBlocks(&device.Final)
}

// findDisplaced inverts the lifetimes that were ended by an alloc.
func findDisplaced(life *trace.Lifetimes) map[int32]trace.AllocationID {
	if life.Reused() == 0 {
		return nil
	}
	found := make(map[int32]trace.AllocationID, life.Reused())
	events := life.Events()
	for i := range events.Len() {
		if events.At(i).Kind != trace.Alloc {
			continue
		}
		if end := life.Closed(i); end != trace.Never && events.At(end).Kind == trace.Alloc {
			found[int32(end)] = trace.AllocationID(i)
		}
	}
	return found
}

// Trace returns the trace that the index was made from.
func (x *Index) Trace() *trace.Trace { return x.trace }

// Device returns the device that the index is about.
func (x *Index) Device() *trace.Device { return x.device }

// Lifetimes returns when each allocation began and ended. It must not be
// advanced.
func (x *Index) Lifetimes() *trace.Lifetimes { return x.life }

// End returns the number of the last event, −1 when there is none.
func (x *Index) End() int { return x.events.Len() - 1 }

// History reports whether the trace tells how memory came to be as it is. A
// device without events has no history, and neither has the single entry that
// PyTorch leaves when recording is set to "state": it is only the last thing
// that happened.
func (x *Index) History() bool {
	return x.events.Len() > 1 && x.kinds[trace.Alloc]+x.kinds[trace.FreeCompleted]+x.kinds[trace.Free]+
		x.kinds[trace.SegmentAlloc]+x.kinds[trace.SegmentFree]+x.kinds[trace.SegmentMap]+x.kinds[trace.SegmentUnmap] > 0
}

// clamp brings an event number into [−1, End].
func (x *Index) clamp(event int) int { return max(-1, min(event, x.End())) }
