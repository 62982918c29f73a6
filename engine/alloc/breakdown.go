package alloc

import "github.com/memtop/memtop/snapshots/trace"

// Breakdown says where the reserved bytes are. Its parts add up:
//
//	Reserved = Σ Category + Rounding + PendingFree + InactiveSplit + Releasable
type Breakdown struct {
	Reserved int64 // all that was obtained from the driver
	// Category is the requested bytes of allocated blocks, by [Category].
	Category [trace.CategoryCount]int64
	// Rounding is how much larger those blocks are than the requests.
	Rounding int64
	// PendingFree is the bytes of freed blocks that another stream may still use.
	PendingFree int64
	// InactiveSplit is the bytes of free blocks that share a segment with other
	// blocks, and so cannot go back to the driver.
	InactiveSplit int64
	// Releasable is the free bytes that can go back: segments without a live block.
	// Free memory of expandable segments is counted here, as PyTorch does, though
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

// Breakdown returns where the reserved bytes were when the stats were taken.
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
