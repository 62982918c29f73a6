package alloc

// Rules are what the allocators of PyTorch's releases do differently. The zero
// value has the rules of the releases before 2.12.
type Rules struct {
	order order
	// pools says that a pool which a program made itself, a MemPool, takes requests
	// without what the capture of a graph forbids: events are looked at, and the
	// cache is emptied.
	pools bool
	// whole says that a memory fraction of 1 is no limit.
	whole bool
	// last says that ">" in roundup_power2_divisions is also for the last size named.
	last bool
}

// order is how free blocks of one size in one pool and stream follow each other.
type order uint8

const (
	byAddress order = iota
	byBirth         // as the blocks were made, whole or cut from others
	bySegment       // as their segments were made, then by address
)

// place returns a number that is larger for a later block.
func (o order) place(b *block) uint64 {
	switch o {
	case byBirth:
		return b.born
	case bySegment:
		return b.segment.number<<segmentShift | (b.addr-b.segment.addr)/minBlock
	default:
		return b.addr
	}
}

// segmentShift leaves room for the blocks of a segment of 1 PiB, and for as many
// million segments as a program has in years.
const segmentShift = 41
