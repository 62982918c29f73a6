package train

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Predicted times
//
// On a device that computes while it is called, the trainer measures some steps
// operation by operation. A rehearsal knows all operations of a step with other
// settings, as it knows all bytes. So the step's time is the sum of their times, see
// op_time.go, and what the program does beside them: a part of the operations' time,
// and hostCall for each of them. A GPU computes later than it is called, so for a GPU
// there is no prediction of the time.

// hostCall is what the program does around an operation, in nanoseconds, on the
// processor of the table in op_time.go.
const hostCall = 3800

// stepTimes are those of the last steps with the same settings, and of all operations.
type stepTimes struct {
	mu       sync.Mutex
	settings []trace.Value
	list     recent // of whole steps
	beside   recent // what measured steps did beside their operations
	ops      opTimes
}

// note takes the time of a step that was reported.
func (s *stepTimes) note(step *trace.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.settings, step.Settings) {
		s.settings, s.list = step.Settings, nil
	}
	s.list.add(float64(step.Duration))
}

// usual returns the median time of the last steps, 0 if they had other settings.
func (s *stepTimes) usual(settings []trace.Value) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.settings, settings) {
		return 0
	}
	return int64(middle(s.list))
}

// scatter is half the distance of the quartiles of the last steps' times, as a part of
// their median.
func (s *stepTimes) scatter() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := slices.Sorted(slices.Values(s.list))
	n := len(sorted)
	return (sorted[(3*n)/4] - sorted[n/4]) / sorted[n/2] / 2
}

// middle returns the median, 0 of nothing.
func middle(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// seldom is how often a step is measured once enough were.
const seldom = 32

// measure begins to measure the operations of a step, if it is one to measure. The
// first step with new settings is not: it finds no memory where it needs it. end is
// told whether the step was done.
func (t *Trainer) measure(s *Settings) (end func(done bool)) {
	times := &t.stepTimes
	if t.config.Build == nil || t.config.rehearses != nil || !t.computesAtOnce() {
		return func(bool) {}
	}
	times.mu.Lock()
	defer times.mu.Unlock()
	if t.step == t.began || len(changes(&t.current, s)) > 0 {
		times.beside = nil
		return func(bool) {}
	}
	if len(times.beside) == measuredSteps && t.step%seldom != 0 {
		return func(bool) {}
	}
	m := dry.MeterOf(nil, t.clock)
	restore := t.config.Device.Through(func(b device.Backend) device.Backend { return m.Over(b) })
	began := t.clock()
	return func(done bool) {
		whole := t.clock() - began
		restore()
		if !done {
			return
		}
		times.mu.Lock()
		defer times.mu.Unlock()
		if times.ops == nil {
			times.ops = make(opTimes)
		}
		times.beside.add(float64(whole - times.ops.note(m.Take())))
	}
}

// computesAtOnce reports whether operations of the device are done when they return.
func (t *Trainer) computesAtOnce() bool { return strings.HasPrefix(t.config.Device.Name(), "cpu") }

// monotonic is the clock of a trainer.
func monotonic() time.Duration { return time.Since(epoch) }

var epoch = time.Now()

// workload knows how long operations take.
type workload struct {
	ops     map[dry.Op]float64
	threads int
	speed   float64 // what measured operations take, of what they should
	off     float64 // how far an operation that was not measured may be off, as a part
	call    float64 // of the host, for each operation
	share   float64 // of the host, of the operations' time
}

// stepTime is the time of a step, and how much of it is guessed: that of operations
// that were never measured, and of the host around more operations than there are now.
type stepTime struct{ whole, unknown float64 }

// workload returns what is known after steps with these operations; ok is false while
// they were not measured.
func (s *stepTimes) workload(ops dry.Ops, threads int) (w workload, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w = workload{ops: make(map[dry.Op]float64), threads: threads}
	for op, list := range s.ops {
		w.ops[op] = middle(*list)
	}
	if len(s.beside) == 0 {
		return w, false
	}
	sum, model := 0.0, 0.0
	for op, spent := range ops {
		took, known := w.ops[op]
		if !known {
			return w, false
		}
		sum += took * float64(spent.Times)
		model += likely(&op, threads) * float64(spent.Times)
	}
	beside, calls := middle(s.beside), float64(ops.Count())
	w.speed = sum / model
	w.call = min(hostCall*w.speed, beside/calls)
	w.share = (beside - w.call*calls) / sum
	w.off = w.error()
	return w, sum > 0
}

// step returns the time of a step.
func (w *workload) step(ops dry.Ops) (p stepTime) {
	for op, spent := range ops {
		took, known := w.ops[op]
		if !known {
			took = w.guess(&op)
			p.unknown += took * float64(spent.Times)
		}
		p.whole += took * float64(spent.Times)
	}
	p.whole = p.whole*(1+w.share) + w.call*float64(ops.Count())
	return p
}

// guess is the time of an operation from that of the nearest other one.
func (w *workload) guess(op *dry.Op) float64 {
	scale, nearest := w.speed, math.Inf(1)
	for other, took := range w.ops {
		if d := unlike(op, &other); d < nearest {
			scale, nearest = took/likely(&other, w.threads), d
		}
	}
	return scale * likely(op, w.threads)
}

// unlike says how unlike two operations are. It is 0 for the same one, which is no
// neighbour, and infinite for operations that share no name.
func unlike(a, b *dry.Op) float64 {
	if a.Name != b.Name || *a == *b {
		return math.Inf(1)
	}
	d := apart(a.Bytes, b.Bytes)
	for i := range a.Shape {
		d += apart(int64(a.Shape[i]), int64(b.Shape[i]))
	}
	if a.Which != b.Which || a.Flags != b.Flags {
		d += 100
	}
	if a.Types != b.Types {
		d += 10
	}
	return d
}

func apart(a, b int64) float64 { return math.Abs(math.Log(float64(1+a) / float64(1+b))) }

// error is how far guesses of the measured operations are off, in the mean of their
// time.
func (w *workload) error() float64 {
	sum, off := 0.0, 0.0
	for op, took := range w.ops {
		sum += took
		off += math.Abs(w.guess(&op) - took)
	}
	return off / sum
}

// estimateTime predicts how much longer a step takes, if its present time is known.
func (t *Trainer) estimateTime(p *trace.Prediction, now *Settings, f *forecast) {
	usual := float64(t.stepTimes.usual(t.filled(*now).list()))
	if usual == 0 || !t.computesAtOnce() {
		return
	}
	w, ok := t.stepTimes.workload(f.before, t.threads())
	if !ok {
		return
	}
	before, after := w.step(f.before), w.step(f.after)
	known := after.unknown <= little*after.whole
	after.unknown += w.call * max(0, float64(f.after.Count()-f.before.Count()))
	scale := usual / before.whole
	p.StepTime = int64(scale*after.whole - usual)
	p.StepTimeKnown, p.StepTimeEstimated = known, !known
	off := math.Hypot(scale*after.unknown*w.off, scale*after.whole*t.stepTimes.scatter())
	if off > little*scale*after.whole {
		p.StepTimeOff = int64(off)
	}
}

// little is how far a predicted time of a step may be off, as a part of it, and still
// be told as a number. It is told as a range else. If no more of it is guessed, such as
// a norm alone instead of one with a sum, it passes for measured.
const little = 0.1

// threads is the number of cores that compute.
func (t *Trainer) threads() int {
	if d, ok := t.config.Device.Machine().(interface{ Threads() int }); ok {
		return d.Threads()
	}
	return 1
}
