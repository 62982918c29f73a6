package analysis

import (
	"math"
	"sort"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// calendar knows when steps began and ended and when settings changed. Its lists
// only grow, so a reader that has an old list may go on reading it.
type calendar struct {
	leak.Steps
	read int // of the program's events
}

func (x *Index) calendar() *calendar {
	return x.kept.calendar.get(x, func(c *calendar) *calendar {
		if c == nil || c.read == 0 {
			c = new(calendar)
		}
		if x.kinds[trace.StepBegin]+x.kinds[trace.StepEnd] == 0 {
			c.mark(x.Steps())
			return c
		}
		for ; c.read < len(x.programEvents); c.read++ {
			c.add(x.programEvents[c.read], x)
		}
		return c
	})
}

func (c *calendar) add(i int32, x *Index) {
	switch e := x.events.At(int(i)); e.Kind {
	case trace.StepBegin:
		c.Begins = append(c.Begins, leak.StepEvent{Event: i, Number: e.Size})
	case trace.StepEnd:
		c.Ends = append(c.Ends, leak.StepEvent{Event: i, Number: e.Size})
	case trace.SettingChanged:
		c.Changes = append(c.Changes, i)
	default:
	}
}

// mark takes steps that have no numbers, and numbers them by counting.
func (c *calendar) mark(steps []Step) {
	for k, s := range steps {
		c.Begins = append(c.Begins, leak.StepEvent{Event: int32(s.From), Number: int64(k + 1)})
		if s.To > s.From {
			c.Ends = append(c.Ends, leak.StepEvent{Event: int32(s.To - 1), Number: int64(k + 1)})
		}
	}
}

// stepAt returns the number of the step that an event is in or, between steps, of
// the last step before it; 0 before the first step.
func (c *calendar) stepAt(event int) int64 {
	n := sort.Search(len(c.Begins), func(k int) bool { return int(c.Begins[k].Event) > event })
	if n == 0 {
		return 0
	}
	return c.Begins[n-1].Number
}

// stepUntil returns the number of the last step that may have begun before an
// event. It is one less than the number of the next step, which began at the
// event or later.
func (c *calendar) stepUntil(event int) int64 {
	n := sort.Search(len(c.Begins), func(k int) bool { return int(c.Begins[k].Event) >= event })
	if n < len(c.Begins) {
		return c.Begins[n].Number - 1
	}
	return math.MaxInt64
}

// StepAt returns the number of the step that an event is in or, between steps, of
// the last step before it. It returns 0 before the first step and if no steps are
// known.
func (x *Index) StepAt(event int) int64 { return x.calendar().stepAt(event) }
