package train

import (
	"os"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Rank is one of the processes that train together, as it was after a step.
type Rank struct {
	Rank, PID     int
	PeakAllocated int64 // bytes
	// AtPeak is what was requested, by category, when allocated memory was highest.
	AtPeak [trace.CategoryCount]int64
}

// The numbers that a process sends about itself: its pid, its peak, whether its
// settings were changed, the action after the next step, whether it is to end,
// and the categories. A float64 holds every possible number of bytes.
const (
	pidWord = iota
	peakWord
	changedWord
	actionWord
	endsWord
	categoryWords
	rankWords = categoryWords + trace.CategoryCount
)

// gather returns the state of every process at a step's end. All processes must
// call it.
func (t *Trainer) gather(m *Memory) []Rank {
	p := t.parallel
	if p == nil {
		return nil
	}
	size, rank := p.group.Size(), p.group.Rank()
	own := p.rows[rank*rankWords:][:rankWords]
	clear(own)
	t.describe(own, m)
	tensor.Fail(p.group.Host().AllGather(words(p.rows), words(own)).Wait(), "gathering the memory of ranks")
	list := make([]Rank, size)
	p.changed, p.ends, p.action = noRank, false, NoAction
	for i := size - 1; i >= 0; i-- {
		row := p.rows[i*rankWords:]
		list[i] = Rank{Rank: i, PID: int(row[pidWord]), PeakAllocated: int64(row[peakWord])}
		for c := range list[i].AtPeak {
			list[i].AtPeak[c] = int64(row[categoryWords+c])
		}
		if row[changedWord] != 0 {
			p.changed = i // the lowest rank is the one that is followed
		}
		p.ends = p.ends || row[endsWord] != 0
		p.action = max(p.action, Action(row[actionWord]))
	}
	return list
}

// describe fills in the numbers of this process.
func (t *Trainer) describe(row []float64, m *Memory) {
	row[pidWord], row[peakWord] = float64(os.Getpid()), float64(m.PeakAllocated)
	if len(wantedChanges(t.parallel.agreed, t.settings.Load())) > 0 {
		row[changedWord] = 1
	}
	row[actionWord] = float64(t.actions.asked.Swap(uint32(NoAction)))
	if t.config.Ends != nil && t.config.Ends() {
		row[endsWord] = 1
	}
	for i, n := range m.AtPeak {
		row[categoryWords+i] = float64(n)
	}
}

// Ends reports whether a process of the group was to end when the last step
// ended. All processes learn of it after the same step, so that none waits for a
// process that has ended.
func (t *Trainer) Ends() bool { return t.parallel != nil && t.parallel.ends }

// words returns memory of this process as an array.
func words(a []float64) device.Array {
	return device.Array{Addr: uint64(uintptr(unsafe.Pointer(&a[0]))), Len: len(a), DType: device.Float64}
}

// world is how many processes train together.
func (t *Trainer) world() int {
	if t.parallel == nil {
		return 1
	}
	return t.parallel.group.Size()
}
