package analysis

import (
	"math"
	"sort"

	"memtop/snapshots/trace"
)

// calendar knows when steps began and ended and when settings changed. Its lists
// only grow, so that who was handed one may read on.
type calendar struct {
	begins, ends []stepEvent
	changes      []int32 // events that tell of a changed setting
	read         int     // of the program's events
}

// stepEvent is an event that a step begins or ends with.
type stepEvent struct {
	event  int32
	number int64 // of the step
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
		c.begins = append(c.begins, stepEvent{i, e.Size})
	case trace.StepEnd:
		c.ends = append(c.ends, stepEvent{i, e.Size})
	case trace.SettingChanged:
		c.changes = append(c.changes, i)
	default:
	}
}

// mark takes steps that have no numbers; they are counted.
func (c *calendar) mark(steps []Step) {
	for k, s := range steps {
		c.begins = append(c.begins, stepEvent{int32(s.From), int64(k + 1)})
		if s.To > s.From {
			c.ends = append(c.ends, stepEvent{int32(s.To - 1), int64(k + 1)})
		}
	}
}

// stepAt returns the number of the step that an event is in, or that came last
// before it; 0 before the first.
func (c *calendar) stepAt(event int) int64 {
	n := sort.Search(len(c.begins), func(k int) bool { return int(c.begins[k].event) > event })
	if n == 0 {
		return 0
	}
	return c.begins[n-1].number
}

// stepUntil returns the number of the last step that may have begun before an
// event: the one before the next that did begin then or later.
func (c *calendar) stepUntil(event int) int64 {
	n := sort.Search(len(c.begins), func(k int) bool { return int(c.begins[k].event) >= event })
	if n < len(c.begins) {
		return c.begins[n].number - 1
	}
	return math.MaxInt64
}

// StepAt returns the number of the step that an event is in, or that came last
// before it; 0 before the first and where no steps are known.
func (x *Index) StepAt(event int) int64 { return x.calendar().stepAt(event) }
