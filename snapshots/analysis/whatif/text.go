package whatif

import (
	"cmp"
	"fmt"
	"strings"

	"memtop/snapshots/quantity"
)

// Sentences says in words how far the answer can be trusted, and what the request
// that failed lacked.
func (a *Answer) Sentences() []string {
	r := &a.Recorded
	if a.Again == nil {
		return []string{"Nothing can be replayed: " + r.WhyNot + "."}
	}
	list := []string{"Replayed under the recorded settings, reserved memory is as recorded at every event."}
	if r.WhyNot != "" {
		list[0] = "The replay under the recorded settings is not the recording: " + r.WhyNot + ". Take the rest as estimates."
	}
	if r.Held > 0 {
		list = append(list, fmt.Sprintf("%s were held when recording began; every run asks for them anew, in order of "+
			"address. What was cached then is in no run.", quantity.Bytes(r.Held)))
	}
	if o := r.OOM; o != nil {
		list = append(list, fmt.Sprintf("Event %s asked for %s, which takes %s of the driver: %s were reserved, and %s could be had at most, %s too little.",
			quantity.Count(o.Event), quantity.Bytes(o.Size), quantity.Bytes(o.Segment), quantity.Bytes(o.Reserved),
			quantity.Bytes(o.Capacity), quantity.Bytes(o.Short())))
		if a.Again.Fits {
			list = append(list, "Begun anew it fits under the recorded settings too: what was cached or cut into pieces before recording has a part in it.")
		}
	}
	return list
}

// Row is what is said of one run.
type Row struct {
	Name          string
	PeakReserved  int64
	PeakAllocated int64 // 0 when not known
	Delta         int64 // of the reserved peak against the recorded settings
	Compared      bool  // Delta says something
	Outcome       string
	Note          string
}

// Columns says what the numbers of a row are.
const Columns = "Reserved is the peak; in blocks, the peak of what was handed out, rounded; overhead, which part of the " +
	"reserved peak is more than that; change, of the reserved peak."

// Allocated returns the peak of allocated bytes as text.
func (r *Row) Allocated() string {
	if r.PeakAllocated == 0 {
		return "?"
	}
	return quantity.Bytes(r.PeakAllocated)
}

// Overhead returns which part of the reserved peak was never needed at once.
func (r *Row) Overhead() string {
	if r.PeakAllocated <= 0 || r.PeakReserved <= 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(r.PeakReserved-r.PeakAllocated)/float64(r.PeakReserved))
}

// Change returns by how much the reserved peak differs, "" where that says nothing.
func (r *Row) Change() string {
	switch {
	case !r.Compared:
		return ""
	case r.Delta > 0:
		return "+" + quantity.Bytes(r.Delta)
	default:
		return quantity.Bytes(r.Delta)
	}
}

// Rows returns the recording, the same begun anew where that differs, and the runs.
func (a *Answer) Rows() []Row {
	rec := &a.Recorded
	rows := []Row{{Name: "recorded: " + settingsName(rec.Settings), PeakReserved: rec.PeakReserved, PeakAllocated: rec.PeakAllocated}}
	if rec.OOM != nil {
		rows[0].Outcome = "ran out"
	}
	if a.Again == nil {
		return rows
	}
	if a.Again.PeakReserved != rec.PeakReserved || a.Again.PeakAllocated != rec.PeakAllocated {
		again := a.row(a.Again)
		again.Name, again.Compared = "the same, begun anew", false
		rows = append(rows, again)
	}
	for i := range a.Runs {
		rows = append(rows, a.row(&a.Runs[i]))
	}
	return rows
}

func (a *Answer) row(r *Run) Row {
	row := Row{
		Name: settingsName(r.Settings), PeakReserved: r.PeakReserved, PeakAllocated: r.PeakAllocated,
		Delta: r.PeakReserved - a.Again.PeakReserved, Compared: !r.Ends, Note: r.Note,
	}
	failed := a.Recorded.OOM
	switch {
	case r.Ends:
		row.Outcome, row.Note = "runs out", strings.TrimPrefix(row.Note+"; ", "; ")+endText(r)
	case r.Fits:
		row.Outcome = "fits"
	case failed != nil:
		row.Outcome = "does not fit"
	}
	return row
}

func settingsName(settings string) string { return cmp.Or(settings, "the defaults") }

func endText(r *Run) string {
	if r.OOMEvent < 0 {
		return "what was held when recording began does not fit"
	}
	return "at event " + quantity.Count(r.OOMEvent) + ", which had its memory in the recording"
}
