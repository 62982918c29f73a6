package advisor

import (
	"math"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
)

// Entry is a prediction that was compared with what was measured.
type Entry struct {
	Key string `json:"key"` // of the setting that was changed
	// Peak and StepTime are by how much the prediction was wrong, in parts of the
	// level before; nil where it was not compared.
	Peak     *float64 `json:"peak,omitempty"`
	StepTime *float64 `json:"step_time,omitempty"`
}

// Ledger is what became of past predictions.
type Ledger []Entry

// LedgerOf returns the entries of the experiments whose measuring is done.
func LedgerOf(all []analysis.Experiment) Ledger {
	var l Ledger
	for i := range all {
		if entry, ok := EntryOf(&all[i]); ok {
			l = append(l, entry)
		}
	}
	return l
}

// EntryOf returns the entry of an experiment, and whether it is one.
func EntryOf(e *analysis.Experiment) (Entry, bool) {
	entry := Entry{Key: e.Key}
	if e.State != trace.Applied || !e.Done() {
		return entry, false
	}
	if f := &e.Effects[analysis.PeakAllocatedQuantity]; f.Compared {
		entry.Peak = &f.Error
	}
	if f := &e.Effects[analysis.StepTimeQuantity]; f.Compared {
		entry.StepTime = &f.Error
	}
	return entry, entry.Peak != nil
}

// Error is how far past predictions were off: the mean of the absolute errors, in
// parts of the level before the change.
type Error struct {
	Predictions int // of the peak
	Peak        float64
	Timed       int // of the time of a step
	StepTime    float64
}

// Of returns the error of the predictions for a setting or, where there was none,
// for all settings; nil while there is none at all.
func (l Ledger) Of(key string) *Error {
	if e := l.sum(func(entry *Entry) bool { return entry.Key == key }); e != nil {
		return e
	}
	return l.sum(func(*Entry) bool { return true })
}

func (l Ledger) sum(wanted func(*Entry) bool) *Error {
	var e Error
	for i := range l {
		entry := &l[i]
		if !wanted(entry) {
			continue
		}
		if entry.Peak != nil {
			e.Predictions++
			e.Peak += math.Abs(*entry.Peak)
		}
		if entry.StepTime != nil {
			e.Timed++
			e.StepTime += math.Abs(*entry.StepTime)
		}
	}
	if e.Predictions == 0 {
		return nil
	}
	e.Peak /= float64(e.Predictions)
	e.StepTime /= float64(max(e.Timed, 1))
	return &e
}
