package ranks

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// Row has the known numbers of one rank at a moment. Sizes are bytes. An unknown
// number is 0 unless its comment says otherwise.
type Row struct {
	trace.Rank
	Host    string // the machine, "" for this one
	PID     int    // 0 for a file
	Name    string // the command, or the file's name
	Device  int
	Problem string // why there are no newer numbers, "" for none; the other fields are the last known ones

	Step         int64 // the last that ended, 0 before the first
	StepDuration int64 // of it, nanoseconds
	Allocated    int64 // now
	Reserved     int64 // now
	// PeakAllocated and PeakReserved are of the last step or, for a file, of the
	// whole trace.
	PeakAllocated int64
	PeakReserved  int64
	// Capacity is the device's memory, and Others the part that other programs
	// hold; -1 if not known.
	Capacity, Others int64
	// AtPeak has the requested bytes at the peak of the last step.
	AtPeak [trace.CategoryCount]int64
	// Settings are the current settings, nil if the program reports none.
	Settings map[string]string
	// Growth is by how many bytes the memory at the ends of steps grows with each
	// step, over the steps that were seen.
	Growth int64
	// OutOfMemory is how many requests failed. FailedAt is the time of the first
	// one, in microseconds since the epoch.
	OutOfMemory, FailedAt int64
	// Recent has the allocated bytes at the last looks at the rank, the newest
	// last. The slice never changes; later rows have other slices.
	Recent []int64
}

// Unranked is the rank of a program that does not answer, so that its rank is not
// known.
const Unranked = -1

// NotRead is the problem of a file that will be read.
const NotRead = "not read yet"

// title names the rank in a sentence.
func (r *Row) title() string {
	name := "rank " + strconv.Itoa(r.Rank.Rank)
	if r.Rank.Rank == Unranked {
		name = "process " + strconv.Itoa(r.PID)
	}
	if r.Host != "" {
		name += " on " + r.Host
	}
	return name
}
