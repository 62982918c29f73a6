package whatif

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Sentences says how far the answer can be trusted, and how much memory the
// failed request lacked.
func (a *Answer) Sentences() []string {
	r := &a.Recorded
	if a.Again == nil {
		return []string{"Nothing can be replayed: " + r.WhyNot + "."}
	}
	trust := "Reproduced: under the recorded settings, reserved memory is as recorded at every event."
	if r.WhyNot != "" {
		trust = "Not reproduced, so take this as an estimate: " + r.WhyNot + "."
	}
	list := append(a.upgrades(), trust)
	if r.Held > 0 {
		list = append(list, fmt.Sprintf("%s held before the recording is requested first, from an empty cache.", quantity.Bytes(r.Held)))
	}
	if memory := a.MemoryText(); memory != "" {
		list = append(list, memory)
	}
	if o := r.OOM; o != nil {
		why := quantity.Bytes(o.Short()) + " too little"
		if o.Short() <= 0 {
			why = "expandable_segments_reserve lets no segment have that much"
		}
		list = append(list, fmt.Sprintf("Event %s asked for %s, in a segment of %s, with %s of at most %s reserved: %s.",
			quantity.Count(o.Event), quantity.Bytes(o.Size), quantity.Bytes(o.Segment), quantity.Bytes(o.Reserved), quantity.Bytes(o.Capacity), why))
		if a.Again.Fits && a.Memory > 0 {
			list = append(list, "With "+quantity.Bytes(a.Memory)+" it fits under the recorded settings.")
		} else if a.Again.Fits {
			list = append(list, "Started afresh it also fits under the recorded settings: memory that was cached or split before the recording is part of the cause.")
		}
	}
	return list
}

// upgrades says what each further release that was asked for would cost against the
// first, or the only one against the recording.
func (a *Answer) upgrades() (list []string) {
	from, name := a.Again, "the recording's release"
	for i := range a.Runs {
		r := &a.Runs[i]
		if r.Torch == "" || r.Settings != a.Recorded.Settings {
			continue
		}
		if from == a.Again && len(a.Runs) > 1 {
			from, name = r, r.Torch
			continue
		}
		list = append(list, fmt.Sprintf("PyTorch %s would reserve %s.", r.Torch, r.against(from, name)))
	}
	return list
}

// against compares the peak with that of another release's run.
func (r *Run) against(from *Run, name string) string {
	peak := quantity.Bytes(r.PeakReserved)
	switch more := r.PeakReserved - from.PeakReserved; {
	case r.Ends:
		return peak + " until memory runs out, " + endText(r)
	case more > 0:
		return fmt.Sprintf("%s at the peak, %s more than %s", peak, quantity.Bytes(more), name)
	case more < 0:
		return fmt.Sprintf("%s at the peak, %s less than %s", peak, quantity.Bytes(-more), name)
	}
	return fmt.Sprintf("%s at the peak, as much as %s", peak, name)
}

// MemoryText says what is known of the device's memory where neither the question
// nor a failed request does, "" where one of them does.
func (a *Answer) MemoryText() string {
	switch r := &a.Recorded; {
	case a.Memory > 0 || r.OOM != nil || a.Again == nil:
		return ""
	case r.Refused > 0:
		return fmt.Sprintf("The driver refused %s, and gave %s at most: a run gets no more than that.", quantity.Bytes(r.Refused), quantity.Bytes(r.Capacity))
	}
	return "How much memory the device has is not recorded, so a run has as much as it needs."
}

// Row is the row of one run in a table.
type Row struct {
	Name          string
	PeakReserved  int64
	PeakAllocated int64 // 0 when not known
	Delta         int64 // of the reserved peak against the recorded settings
	Compared      bool  // Delta says something
	Outcome       string
	Note          string
	settings      string
}

// Fits is the outcome of a run that served the failed request.
const Fits = "fits"

// Variable returns the settings as an environment variable.
func (r *Row) Variable() string {
	return "PYTORCH_CUDA_ALLOC_CONF=" + trace.Shorten(r.settings, longest)
}

// Columns explains the numbers of a row.
const Columns = "Overhead is which part of the reserved peak was never in blocks at once."

// Allocated returns the peak of allocated bytes as text.
func (r *Row) Allocated() string {
	if r.PeakAllocated == 0 {
		return "?"
	}
	return quantity.Bytes(r.PeakAllocated)
}

// Overhead returns the part of the reserved peak that was never needed at once.
func (r *Row) Overhead() string {
	if r.PeakAllocated <= 0 || r.PeakReserved <= 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(r.PeakReserved-r.PeakAllocated)/float64(r.PeakReserved))
}

// Change returns by how much the reserved peak differs, "" if the runs cannot be
// compared.
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

// Rows returns rows for the recording, for the run under the recorded settings if
// that differs, and for the other runs.
func (a *Answer) Rows() []Row {
	rec := &a.Recorded
	rows := []Row{{Name: "recorded: " + SettingsName(rec.Settings), PeakReserved: rec.PeakReserved, PeakAllocated: rec.PeakAllocated, settings: rec.Settings}}
	if rec.OOM != nil {
		rows[0].Outcome = "ran out"
	}
	if a.Again == nil {
		return rows
	}
	if a.Again.PeakReserved != rec.PeakReserved || a.Again.PeakAllocated != rec.PeakAllocated {
		again := a.row(a.Again)
		again.Name, again.Compared = "the same, started afresh", false
		rows = append(rows, again)
	}
	for i := range a.Runs {
		rows = append(rows, a.row(&a.Runs[i]))
	}
	return rows
}

func (a *Answer) row(r *Run) Row {
	row := Row{
		Name: a.runName(r), PeakReserved: r.PeakReserved, PeakAllocated: r.PeakAllocated,
		Delta: r.PeakReserved - a.Again.PeakReserved, Compared: !r.Ends, Note: r.Note, settings: r.Settings,
	}
	failed := a.Recorded.OOM
	switch {
	case r.Ends:
		row.Outcome, row.Note = "runs out", strings.TrimPrefix(row.Note+"; ", "; ")+endText(r)
		if a.Memory == 0 && failed == nil {
			row.Note += "; whether the device has more than " + quantity.Bytes(a.Recorded.Capacity) + " is not known"
		}
	case r.Fits:
		row.Outcome = Fits
	case failed != nil:
		row.Outcome = "does not fit"
	}
	return row
}

func (a *Answer) runName(r *Run) string {
	switch name := SettingsName(r.Settings); {
	case r.Torch != "" && r.Settings == a.Recorded.Settings:
		return "PyTorch " + r.Torch
	case r.Torch != "":
		return "PyTorch " + r.Torch + ", " + name
	default:
		return name
	}
}

// SettingsName returns settings as text for people.
func SettingsName(settings string) string {
	return cmp.Or(trace.Shorten(settings, longest), "the defaults")
}

// longest is how much of settings is shown, in bytes: those of a file may be of any
// length.
const longest = 400

func endText(r *Run) string {
	if r.OOMEvent < 0 {
		return "what was held when recording began does not fit"
	}
	return "at event " + quantity.Count(r.OOMEvent) + ", which had its memory in the recording"
}
