package job

import (
	"slices"
	"time"
)

// The past of each rank: levels for a small chart, and ends of steps for growth.
const (
	looksKept = 64
	stepsKept = 64
)

// past is the history of a rank. The goroutine that asks the rank owns it.
type past struct {
	recent []int64 // the most of each period; slices that were handed out never change
	most   int64   // of the current period
	until  time.Time
	steps  []stepEnd
}

// stepEnd is the allocated bytes at the end of a step.
type stepEnd struct{ number, allocated int64 }

// lookFor is the length of a period of the chart. The chart moves on as often, so
// that the screen is not redrawn each time a rank is asked.
const lookFor = time.Second

// look notes the allocated bytes and returns the most of each earlier period.
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

// ended notes the end of a new step. A step with a lower number than the last
// belongs to another run, whose history is empty.
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

// leastSteps is how many steps are needed to tell growth from noise.
const leastSteps = 16

// growth returns by how many bytes the ends of steps grow with each step. Both
// halves of the history must show the growth: memory that is allocated once, such
// as by another setting, is no growth.
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

// slope returns by how many bytes the ends of steps grow with each step. It is
// the median over pairs of steps that are half the history apart, so that single
// steps, such as the first, have no effect.
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
