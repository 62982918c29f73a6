package job

import (
	"slices"
	"time"
)

// What is kept of each rank's past: looks for a small chart, and ends of steps for what
// grows.
const (
	looksKept = 64
	stepsKept = 64
)

// past is what was seen of a rank before. It is owned by the goroutine that asks it.
type past struct {
	recent []int64 // the most of each while; what was handed out of it never changes
	most   int64   // of the while that has not ended
	until  time.Time
	steps  []stepEnd
}

// stepEnd is what was allocated when a step had ended.
type stepEnd struct{ number, allocated int64 }

// lookFor is how long each look of the chart is. The chart moves on as often: it must not
// have the whole screen drawn anew each time that a rank is asked.
const lookFor = time.Second

// look notes what is allocated now and returns the most of each while before.
func (p *past) look(allocated int64, now time.Time) []int64 {
	p.most = max(p.most, allocated)
	if now.Before(p.until) {
		return slices.Clip(p.recent[max(len(p.recent)-looksKept, 0):])
	}
	p.recent, p.most, p.until = append(p.recent, p.most), 0, now.Add(lookFor)
	from := max(len(p.recent)-looksKept, 0)
	if len(p.recent) >= 2*looksKept {
		p.recent, from = slices.Clone(p.recent[from:]), 0
	}
	return slices.Clip(p.recent[from:])
}

// ended notes the end of a step, unless it was seen before. A step before the last is of
// another run: nothing is known of that one yet.
func (p *past) ended(number, allocated int64) {
	if n := len(p.steps); n > 0 && p.steps[n-1].number >= number {
		if p.steps[n-1].number == number {
			return
		}
		p.steps = nil
	}
	p.steps = append(p.steps, stepEnd{number, allocated})
	p.steps = p.steps[max(len(p.steps)-stepsKept, 0):]
}

// leastSteps are as many as it takes to tell growth from what a step happens to leave.
const leastSteps = 16

// growth returns by how many bytes the ends of steps grow with each step: as much as they
// do in the first half of what was seen and in the second. What is allocated once, such as
// by another setting, is no growth.
func (p *past) growth() int64 {
	half := len(p.steps) / 2
	if len(p.steps) < leastSteps {
		return 0
	}
	a, b := slope(p.steps[:half]), slope(p.steps[half:])
	if a < 0 || b < 0 {
		return min(max(a, b), 0)
	}
	return min(a, b)
}

// slope returns by how many bytes the ends of steps grow with each: the median of what
// they did between each step and the one half of all later, so that single steps, such as
// the first, weigh nothing.
func slope(steps []stepEnd) int64 {
	half := len(steps) / 2
	slopes := make([]int64, 0, stepsKept)
	for i := range len(steps) - half {
		a, b := steps[i], steps[i+half]
		slopes = append(slopes, (b.allocated-a.allocated)/(b.number-a.number))
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}
