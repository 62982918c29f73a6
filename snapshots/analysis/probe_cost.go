package analysis

import "github.com/memtop/memtop/snapshots/trace"

// costSteps and costTime are over how much the cost of reporting is averaged at least, in
// steps and microseconds. A program that measures some steps only measures several soon
// after a viewer came; they alone say nothing of the cost of a minute.
const (
	costSteps = 64
	costTime  = 30_000_000
)

// ProbeCost is what reporting costs a program, over some steps of which it may have
// told only some.
type ProbeCost struct {
	Known          bool  // they are enough
	Spent, Elapsed int64 // nanoseconds; Elapsed is 0 if the steps do not say how long they took
	Steps          int64 // from the first to the last
	Measured       int64 // those of which the memory was measured
}

// ProbeCostOf returns the cost of the last steps.
func ProbeCostOf(steps []trace.Step) (c ProbeCost) {
	n := len(steps)
	for i := n - 1; i >= 0 && !c.Known; i-- {
		first, last := &steps[i], &steps[n-1]
		c.Spent += first.ProbeNS
		if first.Measured() {
			c.Measured++
		}
		c.Steps = max(int64(n-i), last.Number-first.Number+1)
		c.Elapsed = (last.Time-first.Time)*1000 + first.Duration
		c.Known = n-i >= costSteps && (c.Measured == int64(n-i) || last.Time-first.Time >= costTime)
	}
	return c
}

// PerStep returns the mean in nanoseconds, 0 without steps.
func (c ProbeCost) PerStep() int64 { return c.Spent / max(c.Steps, 1) }
