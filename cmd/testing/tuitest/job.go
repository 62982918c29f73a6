package tuitest

import (
	"context"
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// Job imitates the ranks of a job: rows that change when a test changes them.
type Job struct {
	Processes []*Process // of the ranks, for Set and Predict
	Refusal   error      // of every change
	Predicted []int      // the ranks that were asked for predictions

	rows    []ranks.Row
	changed chan struct{} // never closed
}

// NewJob returns a job of n ranks on hosts of eight devices each. Later ranks
// hold more memory, the last but one is lost and the last ran out of memory.
func NewJob(n int) *Job {
	j := &Job{changed: make(chan struct{}, 1)}
	for i := range n {
		j.rows = append(j.rows, madeRank(i, n))
	}
	if n > 3 {
		j.rows[n-2].Problem = "lost 12 s"
		j.rows[n-1].OutOfMemory = 2
	}
	return j
}

func madeRank(i, n int) ranks.Row {
	const gib = 1 << 30
	r := ranks.Row{
		Rank: trace.Rank{Job: "llama-7b", Rank: i, World: n, Local: i % 8, Launcher: "torchrun", Together: true},
		Host: "node" + strconv.Itoa(i/8), PID: 4000 + i, Name: "python train.py --config 7b.yaml", Device: i % 8,
		Step: 1000, StepDuration: int64(400+i%5) * 1e6, Capacity: 80 * gib, Others: gib,
		Allocated: int64(40+i%9) * gib, Growth: int64(i%7/6) << 20, Settings: map[string]string{"amp": "bf16", "checkpoint": "block"},
	}
	r.PeakAllocated = r.Allocated + 20*gib
	r.Reserved, r.PeakReserved = r.PeakAllocated+gib, r.PeakAllocated+2*gib
	r.AtPeak[trace.Activation], r.AtPeak[trace.Parameter], r.AtPeak[trace.Optimizer] = r.PeakAllocated-45*gib, 15*gib, 30*gib
	for k := range int64(64) {
		r.Recent = append(r.Recent, r.Allocated+k%4*5*gib)
	}
	return r
}

// Rows returns the current rows.
func (j *Job) Rows() []ranks.Row { return j.rows }

// Changed returns a channel that never receives: tests announce rows themselves.
func (j *Job) Changed() <-chan struct{} { return j.changed }

// Set asks all processes, or returns the refusal.
func (j *Job) Set(ctx context.Context, file int, key, value string) (made trace.Change, err error) {
	if j.Refusal != nil {
		return made, j.Refusal
	}
	for i, p := range j.Processes {
		change, err := p.Set(ctx, key, value)
		if err != nil {
			return made, err
		}
		if i == file {
			made = change
		}
	}
	return made, nil
}

// Predict asks one process.
func (j *Job) Predict(ctx context.Context, file int, changes []trace.Value) (*trace.Prediction, error) {
	j.Predicted = append(j.Predicted, file)
	return j.Processes[file].Predict(ctx, changes)
}

// Change makes newer rows, which a test may edit.
func (j *Job) Change(change func(rows []ranks.Row)) {
	j.rows = append([]ranks.Row(nil), j.rows...)
	change(j.rows)
}
