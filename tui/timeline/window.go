package timeline

import (
	"sort"

	"github.com/memtop/memtop/snapshots/analysis"
)

// window is the part of the trace that the chart shows: events [from, to).
type window struct{ from, to int }

// narrowest is how few events a window shows.
const narrowest = 8

// axis turns events into positions, which are event numbers or microseconds,
// and back. Zooming and panning work on positions.
type axis struct {
	index *analysis.Index
	time  bool
	n     int
}

func (a axis) position(event int) float64 {
	event = min(max(event, 0), a.n-1)
	if a.time && event >= 0 {
		return float64(a.index.Device().Events.At(event).Time)
	}
	return float64(event)
}

func (a axis) event(position float64) int {
	if a.time {
		return a.index.EventAtTime(int64(position))
	}
	return int(position)
}

// after returns the first event past a position. A window that ends in a long
// pause thus ends with the last event before the pause.
func (a axis) after(position float64) int {
	if a.time {
		return a.index.EventAtTime(int64(position) + 1)
	}
	return int(position) + 1
}

// whole is the window of the whole trace.
func (a axis) whole() window { return window{0, a.n} }

// clamp keeps a window inside the trace and not too narrow.
func (a axis) clamp(w window) window {
	span := max(w.to-w.from, min(narrowest, a.n))
	w.from = min(max(w.from, 0), max(a.n-span, 0))
	w.to = min(max(w.from+span, w.from), a.n)
	return w
}

// zoom scales the window by factor around an event. The event keeps its place
// unless an end of the trace is in the way.
func (a axis) zoom(w window, around int, factor float64) window {
	if a.n == 0 {
		return w
	}
	around = min(max(around, w.from), max(w.to-1, 0))
	from, to, at := a.position(w.from), a.position(w.to-1), a.position(around)
	zoomed := a.between(at-(at-from)*factor, at+(to-at)*factor)
	switch {
	case factor < 1 && zoomed.to-zoomed.from < narrowest:
		zoomed = window{around - narrowest/2, around + narrowest/2}
	case factor > 1 && zoomed.to-zoomed.from <= w.to-w.from:
		zoomed = window{w.from - 1, w.to + 1} // rounding must not stop it
		if zoomed.from < 0 || zoomed.to > a.n {
			zoomed = window{min(w.from, w.from-1+a.n-w.to), w.to + 1}
		}
	}
	return a.clamp(zoomed)
}

// pan moves the window by a share of its width.
func (a axis) pan(w window, share float64) window {
	if a.n == 0 {
		return w
	}
	from, to := a.position(w.from), a.position(w.to-1)
	moved := a.between(from+(to-from)*share, to+(to-from)*share)
	if !a.time {
		moved.to = moved.from + w.to - w.from
	}
	switch {
	case moved.from != w.from || moved.to != w.to:
	case share > 0:
		moved = window{w.from + 1, w.to + 1}
	default:
		moved = window{w.from - 1, w.to - 1}
	}
	return a.clamp(moved)
}

// between returns the window from one position to another. One that reaches
// over an end of the trace is moved back inside as it is.
func (a axis) between(from, to float64) window {
	low, high := a.position(0), a.position(a.n-1)
	if over := to - high; over > 0 {
		from, to = from-over, high
	}
	if under := low - from; under > 0 {
		from, to = low, min(to+under, high)
	}
	return window{a.event(from), a.after(to)}
}

// include moves the window as little as possible to show an event, and keeps its
// width. An event that is far away comes to the middle.
func (a axis) include(w window, event int) window {
	if event < 0 {
		event = 0
	}
	span := w.to - w.from
	switch {
	case event >= w.from && event < w.to:
		return w
	case event < w.from && w.from-event <= span/8:
		return a.clamp(window{event, event + span})
	case event >= w.to && event-w.to <= span/8:
		return a.clamp(window{event + 1 - span, event + 1})
	default:
		return a.clamp(window{event - span/2, event - span/2 + span})
	}
}

// columnOf returns the column that an event lies in.
func columnOf(columns []analysis.Column, event int) int {
	return min(sort.Search(len(columns), func(i int) bool { return columns[i].To > event }), len(columns)-1)
}
