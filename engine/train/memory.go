package train

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Memory says what the device's memory is used for at one moment, and at the
// highest moment of the last step. All numbers are bytes.
type Memory struct {
	Allocated, Reserved         int64
	PeakAllocated, PeakReserved int64
	// Now adds up to Reserved, see [alloc.Breakdown].
	Now alloc.Breakdown
	// AtPeak is the requested bytes, by category, when Allocated was highest.
	AtPeak [trace.CategoryCount]int64
	// Highest is the most requested bytes of each category by itself. The
	// categories have different highest moments.
	Highest [trace.CategoryCount]int64
	// Host is the requested bytes of the host, by category, when their sum was
	// highest. HostReserved is the most that the host's allocator had reserved
	// for it.
	Host         [trace.CategoryCount]int64
	HostReserved int64
}

// memoryOf is ReadMemory, with the host's memory for the device added.
func memoryOf(d *tensor.Device) Memory {
	m := ReadMemory(d.Memory())
	if h := d.HostMemory(); h != nil {
		s := h.Stats()
		m.Host, m.HostReserved = s.CategoryAtPeak, s.ReservedBytes.All.Peak
	}
	return m
}

// ReadMemory asks an allocator. It may be called by any goroutine.
func ReadMemory(a *alloc.Allocator) Memory {
	s := a.Stats()
	m := Memory{
		Allocated: s.Allocated(), Reserved: s.Reserved(),
		PeakAllocated: s.AllocatedBytes.All.Peak, PeakReserved: s.ReservedBytes.All.Peak,
		Now: s.Breakdown(), AtPeak: s.CategoryAtPeak,
	}
	for i := range s.Category {
		m.Highest[i] = s.Category[i].Peak
	}
	return m
}
