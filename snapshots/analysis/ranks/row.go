package ranks

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// Row is what is known of one rank at a moment. Sizes are bytes; what is not known is
// 0 unless it says otherwise.
type Row struct {
	trace.Rank
	Host    string // the machine, "" for this one
	PID     int    // 0 for a file
	Name    string // the command, or the file's name
	Device  int
	Problem string // why there is nothing newer, "" when there is; the rest is what was last known

	Step         int64 // the last that ended, 0 before the first
	StepDuration int64 // of it, nanoseconds
	Allocated    int64 // now
	Reserved     int64 // now
	// PeakAllocated and PeakReserved are of the last step; of a file, of all of it.
	PeakAllocated int64
	PeakReserved  int64
	// Capacity is what the device has, Others what other programs hold of it, -1
	// when it is not known.
	Capacity, Others int64
	// AtPeak is what was requested when the last step's memory was highest.
	AtPeak [trace.CategoryCount]int64
	// Settings are those in force, nil when the program says none.
	Settings map[string]string
	// Growth is by how many bytes the memory at the ends of steps grows with each
	// step, over the steps that were seen.
	Growth int64
	// OutOfMemory is how many requests failed, FailedAt when the first of them did, in
	// microseconds since the epoch.
	OutOfMemory, FailedAt int64
	// Recent is what was allocated at the last looks, the newest last. It never changes;
	// later rows have other slices.
	Recent []int64
}

// Unranked is the number of a program whose rank is not known: it does not answer.
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
