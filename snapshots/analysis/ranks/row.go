package ranks

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// Row has the known numbers of one rank at a moment. Sizes are bytes. An unknown
// number is 0 unless its comment says otherwise.
//
// Its JSON form has what a report knows of its one device. Which rank that is, and
// where its file lies, the reader of the report decides.
type Row struct {
	trace.Rank `json:"-"`
	Host       string `json:"-"` // the machine, "" for this one
	PID        int    `json:"-"` // 0 for a file
	Name       string `json:"-"` // the command, or the file's name
	Device     int    `json:"device"`
	Problem    string `json:"-"` // why there are no newer numbers, "" for none; the other fields are the last known ones

	Step         int64 `json:"step"`            // the last that ended, 0 before the first
	StepDuration int64 `json:"step_ns"`         // of it, nanoseconds
	Allocated    int64 `json:"allocated_bytes"` // now
	Reserved     int64 `json:"reserved_bytes"`  // now
	// PeakAllocated and PeakReserved are of the last step if the program Measured
	// it, else of the whole trace.
	PeakAllocated int64 `json:"peak_allocated_bytes"`
	PeakReserved  int64 `json:"peak_reserved_bytes"`
	Measured      bool  `json:"measured"`
	// Capacity is the device's memory, and Others the part that other programs
	// hold; -1 if not known.
	Capacity int64 `json:"capacity_bytes"`
	Others   int64 `json:"others_bytes"`
	// AtPeak has the requested bytes at the peak of the last step.
	AtPeak [trace.CategoryCount]int64 `json:"-"`
	// Lines has the requested bytes at the peak by "file:line function", without
	// the file's folders; nil if not known. Unlined are those of no line.
	Lines   map[string]int64 `json:"-"`
	Unlined int64            `json:"-"`
	// Settings are the current settings, nil if the program reports none.
	Settings map[string]string `json:"settings"`
	// Growth is by how many bytes the memory at the ends of steps grows with each
	// step, over the steps that were seen.
	Growth int64 `json:"growth_bytes_per_step"`
	// OutOfMemory is how many requests failed. FailedAt is the time of the first
	// one, in microseconds since the epoch.
	OutOfMemory int64 `json:"out_of_memory"`
	FailedAt    int64 `json:"failed_at_us"`
	// Recent has the allocated bytes at the last looks at the rank, the newest
	// last. The slice never changes; later rows have other slices.
	Recent []int64 `json:"-"`
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
		if name = "process " + strconv.Itoa(r.PID); r.PID == 0 {
			name = r.Name
		}
	}
	if r.Host != "" {
		name += " on " + r.Host
	}
	return name
}
