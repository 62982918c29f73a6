package alloc

import "github.com/memtop/memtop/snapshots/trace"

// Breakdown says where the reserved bytes are. Its parts add up:
//
//	Reserved = Σ Category + Rounding + PendingFree + InactiveSplit + Releasable
type Breakdown struct {
	Reserved int64 // all that was obtained from the driver
	// Category is what was asked for, by [Category], in blocks handed out.
	Category [trace.CategoryCount]int64
	// Rounding is what those blocks have beyond that.
	Rounding int64
	// PendingFree is in blocks that were freed while another stream may use them.
	PendingFree int64
	// InactiveSplit is in free blocks that share a segment with others, and so
	// cannot go back to the driver.
	InactiveSplit int64
	// Releasable is free and can go back: segments without a live block. Free
	// memory of expandable segments is counted here, as PyTorch does, though
	// only whole pages of it go back.
	Releasable int64
}

// Requested returns the sum over the categories.
func (b *Breakdown) Requested() int64 {
	sum := int64(0)
	for _, n := range b.Category {
		sum += n
	}
	return sum
}

// Breakdown returns where the reserved bytes are at the moment of the stats.
func (s *Stats) Breakdown() Breakdown {
	b := Breakdown{Reserved: s.Reserved(), InactiveSplit: s.InactiveSplitBytes.All.Current}
	for i := range s.Category {
		b.Category[i] = s.Category[i].Current
	}
	active := s.ActiveBytes.All.Current
	b.Rounding = s.Allocated() - b.Requested()
	b.PendingFree = active - s.Allocated()
	b.Releasable = b.Reserved - active - b.InactiveSplit
	return b
}
