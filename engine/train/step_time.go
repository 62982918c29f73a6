package train

import (
	"slices"
	"strings"
	"sync"

	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Estimated times
//
// If the time of a step with other settings does not follow from measured times,
// it is estimated. The trainer rehearses both steps, counts the work of each by
// kind, and scales the measured time by the ratio of the times that the work
// should take. Only the ratios of the rates count, so the rates serve on faster
// and slower processors of the same make. They say nothing about a GPU, so for a
// GPU there is no estimate.

// rates are how long a unit of each kind of work takes on cpu:0, in nanoseconds. They
// were fitted to steps of five models in all settings, see
// TestPredictionsOfManyModels, which prints how far they are off.
var rates = dry.Work{
	dry.Products: 0.045, dry.HalfProducts: 0.035, dry.Scores: 0.12, dry.Moved: 0.23, dry.Cast: 0.6,
	dry.Updated: 0.07, dry.UpdatedBytes: 13, dry.Crossed: 0.15, dry.Operations: 4000,
}

// takes returns how long work takes, in nanoseconds.
func takes(w *dry.Work) (sum float64) {
	for kind, amount := range w {
		sum += amount * rates[kind]
	}
	return sum
}

// stepTimesKept is the number of steps from which the usual time is taken.
const stepTimesKept = 15

// stepTimes are those of the last steps with the same settings.
type stepTimes struct {
	mu       sync.Mutex
	settings []trace.Value
	list     []int64 // nanoseconds
}

// note takes the time of a step that was reported.
func (s *stepTimes) note(step *trace.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.settings, step.Settings) {
		s.settings, s.list = step.Settings, s.list[:0]
	}
	if len(s.list) == stepTimesKept {
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, step.Duration)
}

// usual returns the median time of the last steps, 0 if they had other settings.
func (s *stepTimes) usual(settings []trace.Value) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 || !slices.Equal(s.settings, settings) {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.list))
	return sorted[len(sorted)/2]
}

// estimateTime estimates how much longer a step takes, if its present time is
// known.
func (t *Trainer) estimateTime(p *trace.Prediction, now *Settings, f *forecast) {
	usual := t.stepTimes.usual(t.filled(*now).list())
	before := takes(&f.before)
	if usual == 0 || before == 0 || !strings.HasPrefix(t.config.Device.Name(), "cpu") {
		return
	}
	p.StepTime = int64(float64(usual) * (takes(&f.after)/before - 1))
	p.StepTimeEstimated = true
}
