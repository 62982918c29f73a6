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

// Kind groups programs whose predictions are alike: programs of one writer, such
// as our agent for PyTorch, and models of one class.
type Kind struct {
	Program string `json:"program,omitempty"`
	Model   string `json:"model,omitempty"`
}

// KindOf returns the kind of a running program.
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

// Entry is a prediction that was compared with a measurement.
type Entry struct {
	Kind
	// Change identifies the change and its process, so that several memtops that
	// measured it count it once.
	Change string `json:"change,omitempty"`
	Key    string `json:"key"` // of the setting that was changed
	Value  string `json:"value,omitempty"`
	// Peak and StepTime are how far the prediction was off, see [trace.Off]; nil
	// if not compared.
	Peak     *float64 `json:"peak,omitempty"`
	StepTime *float64 `json:"step_time,omitempty"`
}

// Ledger has the errors of past predictions.
type Ledger []Entry

// LedgerOf returns the entries of the experiments whose measurement has ended.
func LedgerOf(all []analysis.Experiment) Ledger {
	var l Ledger
	for i := range all {
		if entry, ok := EntryOf(&all[i]); ok {
			l = append(l, entry)
		}
	}
	return l
}

// Measured returns the entries of a running program's changes that were measured.
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

// About returns the entries of programs of a kind. If there are entries of its
// model, it returns only those.
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

// EntryOf returns the entry of an experiment, and whether the experiment gives
// one.
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

// Error is the error of past predictions: the mean of how far they were off, as parts
// of what was measured.
type Error struct {
	Predictions int // of the peak
	Peak        float64
	Timed       int // of the time of a step
	StepTime    float64
}

// Of returns the error of the predictions for a setting or, if there were none,
// for all settings. It returns nil if there were no predictions at all.
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
