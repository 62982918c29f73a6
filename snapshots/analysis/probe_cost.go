package analysis

import "github.com/memtop/memtop/snapshots/trace"

// costSteps is over how many of the last steps the cost of reporting is averaged:
// enough for a program that measures few of them.
const costSteps = 64

// ProbeCost is what reporting costs a program, over some steps of which it may have
// told only some.
type ProbeCost struct {
	Spent, Elapsed int64 // nanoseconds; Elapsed is 0 if the steps do not say how long they took
	Steps          int64 // from the first to the last
	Measured       int64 // those of which the memory was measured
}

// ProbeCostOf returns the cost of the last steps.
func ProbeCostOf(steps []trace.Step) (c ProbeCost) {
	steps = steps[max(len(steps)-costSteps, 0):]
	for i := range steps {
		c.Spent += steps[i].ProbeNS
		c.Elapsed += steps[i].Duration
		if steps[i].Measured() {
			c.Measured++
		}
	}
	if n := len(steps); n > 0 {
		first, last := &steps[0], &steps[n-1]
		c.Steps = max(int64(n), last.Number-first.Number+1)
		c.Elapsed = max(c.Elapsed, (last.Time-first.Time)*1000+first.Duration)
	}
	return c
}

// PerStep returns the mean in nanoseconds, 0 without steps.
func (c ProbeCost) PerStep() int64 { return c.Spent / max(c.Steps, 1) }
