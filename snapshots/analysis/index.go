package analysis

import (
	"memtop/snapshots/analysis/leak"
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
	kinds  [trace.KindCount]int
	others map[trace.NoteID]int // events of kind Other, by note
	stacks seenStacks
	// segmentEvents lists the events that change reserved memory.
	segmentEvents []int32
	oomEvents     []int32
	// programEvents lists those of steps and settings, and what was lost.
	programEvents []int32
	version       int
	kept          answers
}

// answers holds what is computed when first asked for.
type answers struct {
	summary    lasting[Summary]
	categories lasting[*classifier]
	byCategory lasting[*series]
	byStack    lasting[*stackBands]
	segments   lasting[*trace.SegmentHistory]
	sizes      lasting[*trace.BlockSizes]
	marks      lasting[[]Mark]
	steps      lasting[*stepList]
	calendar   lasting[*calendar]
	ooms       lasting[[]OOM]
	growth     lasting[[]Growth]
	findings   lasting[[]Finding]
	bars       lasting[*bars]
	live       lasting[[]finalBlock]
	final      lasting[*Map]
	folded     lasting[*folding]
	sites      lasting[*leak.Sites]
	history    lasting[*leak.History]
	alive      lasting[[]trace.Allocation]
	sitesNow   lasting[[]leak.Site]
	peak       lasting[*peakFacts]
}

// NewIndex reads the device's whole trace.
func NewIndex(t *trace.Trace, device *trace.Device) *Index {
	x := &Index{life: trace.NewLifetimes(), others: make(map[trace.NoteID]int)}
	if device.Base != nil {
		x.life.Begin(device.Base)
		x.stacks.addBlocks(device.Base)
	}
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
// The index must not be read meanwhile.
func (x *Index) Advance(t *trace.Trace, device *trace.Device) {
	x.version++
	x.trace, x.device, x.tables, x.events = t, device, t.Tables, device.Events
	x.life.Advance(device.Events)
	x.life.Finish(&device.Final)
	x.readEvents()
	x.levels.settle(x.life, &device.Final)
	if device.Base == nil {
		x.stacks.addBlocks(&device.Final)
	}
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
