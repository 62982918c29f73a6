package trace

import "math"

// Kind says what an event did. The first nine are PyTorch's actions.
type Kind uint8

// The kinds of events. Other is an action that memtop does not know; the event's
// note has its name as written.
const (
	Other Kind = iota
	Alloc
	FreeRequested
	FreeCompleted
	Free // a free without a pending phase; PyTorch's viewers write it
	SegmentAlloc
	SegmentFree
	SegmentMap
	SegmentUnmap
	OOM
	Snapshot
	Annotate
	Retag
	StepBegin
	StepEnd
	SettingChanged
	Lost      // the program can reach the allocation no more, and has not freed it
	KindCount = int(iota)
)

var kindNames = [KindCount]string{
	"other", "alloc", "free_requested", "free_completed", "free",
	"segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom", "snapshot",
	"annotate", "retag", "step_begin", "step_end", "setting_changed", "lost",
}

// String returns the action's name as PyTorch writes it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "other"
}

// KindOf returns the kind with that name, or Other.
func KindOf(name string) Kind {
	for k, n := range kindNames {
		if n == name {
			return Kind(k)
		}
	}
	return Other
}

// Closes reports whether an event of this kind ends an allocation.
func (k Kind) Closes() bool { return k == FreeCompleted || k == Free }

// Retags reports whether an event of this kind says anew what an allocation is for.
func (k Kind) Retags() bool { return k == Retag || k == Annotate }

// Segment reports whether an event of this kind changes reserved memory.
func (k Kind) Segment() bool { return k >= SegmentAlloc && k <= SegmentUnmap }

// Absent says which fields of an event its writer left out.
type Absent uint8

// The fields that writers leave out: old versions of PyTorch write no time,
// and an oom has no address.
const (
	NoAddr Absent = 1 << iota
	NoSize
	NoStream
	NoTime
)

// Event is one entry of an allocator's trace.
type Event struct {
	Addr   uint64   // of the block or range; for OOM the device's free bytes
	Size   int64    // requested bytes of an allocation or free, real bytes of a segment, rounded request of an OOM
	Time   int64    // microseconds since the epoch; 0 when absent
	Stack  StackID  // where it happened
	Note   NoteID   // what else is known of it
	Slack  uint32   // see BlockSize
	Stream StreamID // the allocator's stream
	Kind   Kind
	Absent Absent
}

// BlockSize returns the bytes of the block that an allocation or a free is about,
// and whether the event says so; otherwise they follow from the allocator's rules.
func (e *Event) BlockSize() (int64, bool) { return e.Size + int64(e.Slack) - 1, e.Slack > 0 }

// SetSlack sets by how many bytes the block is larger than the request. A number
// that does not fit into 32 bits becomes the largest one that does.
func (e *Event) SetSlack(bytes uint64) { e.Slack = uint32(min(bytes, math.MaxUint32-1)) + 1 }

// ReservedDelta returns by how much the event changes reserved memory, in bytes.
func (e *Event) ReservedDelta() int64 {
	switch e.Kind {
	case SegmentAlloc, SegmentMap:
		return e.Size
	case SegmentFree, SegmentUnmap:
		return -e.Size
	default:
		return 0
	}
}

// MaxEvents is the largest number of events a device may have: indices are
// kept in 32 bits.
const MaxEvents = math.MaxInt32 - 1
