package analysis

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// top is the moment that findings about peaks and savings look at: the highest
// moment of the trace or, for a watched program, of its last step, because
// settings may have changed before that step.
func (f *finder) top() *heldFacts {
	if f.highest == nil {
		f.highest = f.index.peakFacts()
		if step := f.lastStep(); step != nil {
			f.highest = newHeldFacts(f.index, step.Peak)
		}
	}
	return f.highest
}

// lastStep is the last step of a watched program, nil for any other.
func (f *finder) lastStep() *LastStep {
	if !f.watched() {
		return nil
	}
	return LastStepOf(f.index)
}

func (f *finder) peak() {
	top := f.top()
	bytes := f.index.RequestedAt(top.event)
	if bytes == 0 {
		return
	}
	found := Finding{Kind: PeakFinding, Bytes: bytes, Where: Where{Event: top.event}}
	switch step := f.lastStep(); {
	case step != nil:
		found.Evidence = fmt.Sprintf("The peak of step %s is %s", quantity.Count(int(step.Number)), quantity.Bytes(bytes))
	case !f.index.History():
		found.Evidence = quantity.Bytes(bytes) + " is in use"
	case top.event < 0:
		found.Evidence = "The peak is " + quantity.Bytes(bytes) + ", before the first event"
	default:
		found.Evidence = fmt.Sprintf("The peak is %s, at event %s of %s", quantity.Bytes(bytes), quantity.Count(top.event), quantity.Count(f.summary.Events))
	}
	found.Evidence += largestCategory(&top.categories, bytes)
	if row, unknown := f.topLine(); row != nil && row.Self*100 >= bytes {
		largest := "largest part"
		if unknown > row.Self {
			largest += " of known origin"
		}
		found.Where.Stack = f.largestFrom(top.holders, row.Frame)
		found.Evidence += fmt.Sprintf("; the %s, %s (%s), is from %s", largest, quantity.Bytes(row.Self), share(row.Self, bytes), row.Name)
	}
	f.add(found)
}

// largestCategory returns the known category with the most bytes, if there is
// one.
func largestCategory(categories *[trace.CategoryCount]int64, whole int64) string {
	largest, bytes := trace.OtherCategory, int64(0)
	for _, c := range trace.Categories {
		if c != trace.OtherCategory && categories[c] > bytes {
			largest, bytes = c, categories[c]
		}
	}
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(", of it %s %s", share(bytes, whole), largest)
}

// topLine returns the line that allocated most of the peak, nil if none is known,
// and how many bytes of the peak have no stack.
func (f *finder) topLine() (most *lines.Row, unknown int64) {
	table := LinesOf(f.index, f.top().holders, lines.Line, false)
	for i := range table.Rows {
		switch row := &table.Rows[i]; {
		case row.Frame == 0:
			unknown = max(unknown, row.Self)
		case most == nil:
			most = row
		}
	}
	return most, unknown
}

// largestFrom returns the stack that holds the most memory among the stacks of one
// line.
func (f *finder) largestFrom(holders []Holder, line trace.FrameID) trace.StackID {
	for _, h := range holders {
		if h.Stack > trace.EmptyStack && f.index.Code().Line(h.Stack) == line {
			return h.Stack
		}
	}
	return 0
}
