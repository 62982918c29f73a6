package proposals

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// Kind is what predictions are alike of: programs of one writer, such as our agent for PyTorch, and
// models of one class.
type Kind struct {
	Program string `json:"program,omitempty"`
	Model   string `json:"model,omitempty"`
}

// KindOf returns what a running program is.
func KindOf(t *trace.Trace, device int) Kind {
	k := Kind{Program: t.Info.Writer}
	if i := strings.IndexAny(k.Program, "0123456789"); i > 0 {
		k.Program = strings.TrimSpace(k.Program[:i])
	}
	for i := range slices.Backward(t.Steps) {
		if s := &t.Steps[i]; s.Device == device && len(s.Layers) > 0 {
			k.Model = s.Layers[0].Class
			break
		}
	}
	return k
}

// Entry is a prediction that was compared with what was measured.
type Entry struct {
	Kind
	// Change says which change of which process it was: whoever measured it.
	Change string `json:"change,omitempty"`
	Key    string `json:"key"` // of the setting that was changed
	Value  string `json:"value,omitempty"`
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

// Measured returns the entries of what a running program's changes were measured to do.
func Measured(t *trace.Trace, device int) Ledger {
	l := LedgerOf(analysis.Experiments(t, device))
	kind := KindOf(t, device)
	for i := range l {
		l[i].Kind = kind
		if t.Live != nil {
			l[i].Change = fmt.Sprintf("%d.%d.%s", t.Live.Started, t.Live.PID, l[i].Change)
		}
	}
	return l
}

// mostEntries is how many entries are kept: the newest.
const mostEntries = 2000

// With returns the ledger with more entries, and whether any of them is new.
func (l Ledger) With(more Ledger) (all Ledger, added bool) {
	known := make(map[string]bool, len(l))
	for i := range l {
		known[l[i].Change] = true
	}
	all = slices.Clip(l)
	for _, entry := range more {
		if !known[entry.Change] {
			all, added = append(all, entry), true
		}
	}
	return all[max(0, len(all)-mostEntries):], added
}

// About returns the entries of programs of a kind: of its model if there are any.
func (l Ledger) About(k Kind) Ledger {
	var same, program Ledger
	for _, entry := range l {
		switch {
		case entry.Kind == k:
			same = append(same, entry)
		case entry.Program == k.Program:
			program = append(program, entry)
		}
	}
	if len(same) > 0 {
		return same
	}
	return program
}

// EntryOf returns the entry of an experiment, and whether it is one.
func EntryOf(e *analysis.Experiment) (Entry, bool) {
	entry := Entry{Change: strconv.FormatInt(e.ID, 10), Key: e.Key, Value: e.To}
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
