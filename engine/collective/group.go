package collective

import (
	"time"

	"github.com/memtop/memtop/engine/device"
)

// Group is the processes of one run. It belongs to one goroutine at a time.
//
// Operations are queued and done in the order of the calls, after what the device has
// been given before and beside what comes next. Until an operation has been waited for,
// nothing may write to its sources or touch its destinations. Arrays are of one type in
// all processes, Float32, Float64, Float16 or BFloat16 where they are summed, and lie in
// memory of the group's device that stays where it is.
type Group interface {
	// Rank is this process's number, from 0 on; Size is how many there are.
	Rank() int
	Size() int
	// AllReduce replaces a by the sum of all processes' a.
	AllReduce(a device.Array) Pending
	// ReduceScatter sums all processes' src and sets dst to this process's part
	// of it: elements rank·dst.Len to (rank+1)·dst.Len. src.Len = size·dst.Len.
	ReduceScatter(dst, src device.Array) Pending
	// AllGather sets dst to all processes' src, in the order of ranks.
	// dst.Len = size·src.Len. src may be its own place in dst.
	AllGather(dst, src device.Array) Pending
	// Broadcast replaces a by that of root.
	Broadcast(a device.Array, root int) Pending
	// Host returns the same processes for arrays in memory of the host, whose operations
	// are done when they have been waited for. It is the group itself where the device's
	// memory is the host's.
	Host() Group
	// Barrier returns when every process has called it.
	Barrier() error
	// Close ends the group after all operations; every process must call it.
	Close() error
}

// Pending is an operation that was queued.
type Pending interface {
	// Wait has what the device is given from now on come after the operation, which on
	// one that computes while it is called is to wait until it is done. It returns the
	// first failure of the group. It may be called more than once.
	Wait() error
}

// Timed is a group that measures how long its operations took since it began.
type Timed interface {
	// Times returns for how long operations were under way, each from when it began here
	// to its end, with the wait for processes that come late, and for how much of that
	// the caller waited. What it did not wait for went on beside what it did.
	Times() Times
}

// Times are how long the operations of a group took.
type Times struct{ Communicated, Waited time.Duration }

// Since returns what was taken since earlier times.
func (t Times) Since(earlier Times) Times {
	return Times{t.Communicated - earlier.Communicated, t.Waited - earlier.Waited}
}

// Overlapped returns the share, from 0 to 1, that went on beside other work.
func (t Times) Overlapped() float64 {
	if t.Communicated <= 0 {
		return 0
	}
	return max(0, 1-t.Waited.Seconds()/t.Communicated.Seconds())
}

// TimesOf returns the times of a group, nothing of one that does not know them.
func TimesOf(g Group) Times {
	if timed, ok := g.(Timed); ok {
		return timed.Times()
	}
	return Times{}
}
