package train

import (
	"os"
	"runtime"
	"unsafe"

	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
)

// Rank is one of the processes that train together, as it was after a step.
type Rank struct {
	Rank, PID     int
	PeakAllocated int64 // bytes
	// AtPeak is what was requested, by category, when allocated memory was highest.
	AtPeak [trace.CategoryCount]int64
}

// rankWords are the numbers that a process says of itself: its pid, its peak, and the
// categories. Float64 holds every number of bytes that there can be.
const rankWords = 2 + int(trace.CategoryCount)

// gather returns what every process says of itself; all must call it.
func (p *parallel) gather(m *Memory) []Rank {
	if p == nil {
		return nil
	}
	size, rank := p.group.Size(), p.group.Rank()
	all := make([]float64, size*rankWords)
	own := all[rank*rankWords:][:rankWords]
	own[0], own[1] = float64(os.Getpid()), float64(m.PeakAllocated)
	for i, n := range m.AtPeak {
		own[2+i] = float64(n)
	}
	err := p.group.AllGather(words(all), words(own)).Wait()
	runtime.KeepAlive(all)
	tensor.Fail(err, "gathering the memory of ranks")
	list := make([]Rank, size)
	for i := range list {
		row := all[i*rankWords:]
		list[i] = Rank{Rank: i, PID: int(row[0]), PeakAllocated: int64(row[1])}
		for c := range list[i].AtPeak {
			list[i].AtPeak[c] = int64(row[2+c])
		}
	}
	return list
}

// words returns memory of this process as an array.
func words(a []float64) device.Array {
	return device.Array{Addr: uint64(uintptr(unsafe.Pointer(&a[0]))), Len: len(a), DType: device.Float64}
}
