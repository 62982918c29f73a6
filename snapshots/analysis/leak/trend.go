package leak

import (
	"fmt"
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Telling a leak from what looks like one
//
// The memory that a site never gives back is the least that it holds at any later
// moment. This level is the low water. It rises with a leak, and does not rise
// with memory that comes and goes, however wildly. Changes of level while a
// setting changed are left out. A gap in the events leaves nothing out: what was
// alive on both sides of it is known, and only the step of each rise is not.
//
//   - A site whose low water never rises is steady, or driven by shapes when the
//     same number of tensors has other sizes.
//   - One that rose and has stopped, or rises less and less, is a cache warming up.
//   - One that rises on and on is a suspected leak, as soon as it has done so for
//     longer than caches take: what should not outlive a step (activations,
//     gradients, inputs) sooner than what might be a cache.
//   - Until then it is growing. It stays so when every one of its tensors has a
//     size of its own, as in a cache keyed by shape, and when it has grown as far
//     before and fallen back.

// How much it takes. Steps are steps in which a site grew.
const (
	trendFew      = 4  // moments below which a trend is undecided
	trendSome     = 4  // growths that make a trend
	leakTransient = 14 // steps until what should not outlive a step is a leak
	leakOther     = 18 // steps until what might be a cache is one
	leakSpaced    = 8  // growths of one that grows once every few steps
	quietGaps     = 5  // of its usual pauses without growth before it has stopped
	quietLong     = 16 // steps without growth before it counts as steady again
)

// sample is what a site holds at the end of one step.
type sample struct {
	Level
	turnover int64 // bytes that the step allocated, of all sites
	found    bool  // perhaps in the middle of a step: it may differ from the others
}

// excused reports whether something other than the site may have changed the
// level there.
func (s *sample) excused() bool { return s.Changed }

// evidence is what a trend is judged by. It may be used again, for another site.
type evidence struct {
	samples  []sample
	category trace.Category
	sizes    []int64 // of its allocations
	fellAt   int64
	fellFrom int // how far it had grown before it fell back, 0 for never
	lost     int
	lostSize int64

	low      []int   // the least count from each sample on
	lowBytes []int64 // the same of bytes
	grew     []int   // samples at which the low water rose, excused ones left out
	rise     int     // by how much in all
	noise    int     // how far counts were above the low water at most
	steps    int     // compared with the one before, and not excused
}

// judge returns the verdict. It keeps its intermediate results in e.
func (e *evidence) judge() Verdict {
	e.lowWater()
	j := Verdict{Steps: max(0, len(e.samples)-1)}
	switch {
	case e.lost > 0:
		j.Trend = Unreachable
		j.Reason = fmt.Sprintf("%s of %s here: nothing in the program refers to them any more, and they were never released.",
			quantity.Bytes(e.lostSize), quantity.Plural(e.lost, "tensor"))
		j.GrowthPerStep = e.perStep()
	case len(e.samples) < trendFew:
		j.Reason = "Only " + quantity.Plural(j.Steps, "step") + " seen so far."
	case e.rise < 2*e.noise || len(e.grew) == 0:
		e.flat(&j)
	default:
		e.rising(&j)
	}
	return j
}

// lowWater computes the low water at each sample.
func (e *evidence) lowWater() {
	n := len(e.samples)
	if len(e.low) != n {
		e.low, e.lowBytes = make([]int, n), make([]int64, n)
	}
	e.grew, e.rise, e.noise, e.steps = e.grew[:0], 0, 0, 0
	for i := n - 1; i >= 0; i-- {
		e.low[i], e.lowBytes[i] = e.samples[i].Count, e.samples[i].Bytes
		if i < n-1 {
			e.low[i], e.lowBytes[i] = min(e.low[i], e.low[i+1]), min(e.lowBytes[i], e.lowBytes[i+1])
		}
		e.noise = max(e.noise, e.samples[i].Count-e.low[i])
	}
	for i := 1; i < n; i++ {
		if e.samples[i].excused() {
			continue
		}
		e.steps++
		if by := e.low[i] - e.low[i-1]; by > 0 {
			e.grew = append(e.grew, i)
			e.rise += by
		}
	}
}

// perStep returns by how many bytes the low water rises in a step, since it
// began to.
func (e *evidence) perStep() int64 {
	if len(e.grew) == 0 {
		return 0
	}
	var bytes, steps int64
	for i := e.grew[0]; i < len(e.samples); i++ {
		if !e.samples[i].excused() && (len(e.grew) == 1 || !e.samples[i-1].found) {
			bytes += e.lowBytes[i] - e.lowBytes[i-1]
			steps += int64(e.gap(i))
		}
	}
	return max(0, bytes/max(1, steps))
}

// number returns the step that a sample was taken after.
func (e *evidence) number(i int) string { return quantity.Count(int(e.samples[i].Step)) }

// flat judges a site that holds no more allocations than it did.
func (e *evidence) flat(j *Verdict) {
	j.Trend = Steady
	first, last := &e.samples[0], &e.samples[len(e.samples)-1]
	low, high, up := first.Bytes, first.Bytes, 0
	same := true
	for i := range e.samples {
		s := &e.samples[i]
		low, high = min(low, s.Bytes), max(high, s.Bytes)
		same = same && s.Count == first.Count
		if i > 0 && !s.excused() && s.Bytes > e.samples[i-1].Bytes && s.Count == e.samples[i-1].Count {
			up++
		}
	}
	switch {
	case same && low == high:
		j.Reason = "The same " + quantity.Plural(last.Count, "tensor") + " after each of the last " + quantity.Plural(j.Steps, "step") + "."
		if last.Count == 0 {
			j.Reason = "Nothing is left of it after any of the last " + quantity.Plural(j.Steps, "step") + "."
		}
	case same && up >= trendSome && !e.shapesVary():
		j.Trend = Growing
		j.GrowthPerStep = (last.Bytes - first.Bytes) / max(1, last.Step-first.Step)
		j.Reason = fmt.Sprintf("%s replaced by larger ones in %d of %s, while the steps' other tensors stay as large as they were.",
			isOrAre(last.Count), up, quantity.Plural(j.Steps, "step"))
		if j.GrowthPerStep <= 0 {
			j.Trend, j.Reason = ShapeDriven, sizesReason(last.Count, low, high, j.Steps)
		}
	case same:
		j.Trend, j.Reason = ShapeDriven, sizesReason(last.Count, low, high, j.Steps)
	default:
		j.Reason = e.steadyReason()
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 tensor is"
	}
	return quantity.Count(n) + " tensors are"
}

func sizesReason(count int, low, high int64, steps int) string {
	return fmt.Sprintf("Always %s, of %s to %s over %s: sizes follow the shapes of the batch.",
		quantity.Plural(count, "tensor"), quantity.Bytes(low), quantity.Bytes(high), quantity.Plural(steps, "step"))
}

// steadyReason says when the level of a site that does not grow last changed.
func (e *evidence) steadyReason() string {
	for i := len(e.samples) - 1; i > 0; i-- {
		if s := &e.samples[i]; s.Count != e.samples[i-1].Count {
			text := "Its count last changed in step " + e.number(i)
			switch {
			case s.Changed:
				text += ", when a setting did"
			case s.Bridged:
				text += " or before it, where events are missing"
			}
			return text + fmt.Sprintf("; it does not rise over %s.", quantity.Plural(len(e.samples)-1, "step"))
		}
	}
	return "It does not rise over " + quantity.Plural(len(e.samples)-1, "step") + "."
}

// shapesVary reports whether what steps allocate elsewhere changes in size.
func (e *evidence) shapesVary() bool {
	low, high := int64(-1), int64(0)
	for i := 1; i < len(e.samples); i++ {
		if e.samples[i].excused() {
			continue
		}
		other := e.samples[i].turnover - e.samples[i].Bytes
		if low < 0 || other < low {
			low = other
		}
		high = max(high, other)
	}
	return high-low > high/50
}

// rising judges a site that holds ever more.
func (e *evidence) rising(j *Verdict) {
	n := len(e.samples)
	first, last := e.grew[0], e.grew[len(e.grew)-1]
	quiet := e.count(last+1, n)
	gap := 1
	if len(e.grew) > 1 {
		gap = (last - first) / (len(e.grew) - 1)
	}
	stopped := quiet >= quietGaps*gap
	if stopped && e.replaced(j, last, quiet) {
		return
	}
	switch {
	case stopped && (len(e.grew) <= 2 || quiet >= quietLong):
		j.Trend, j.Reason = Steady, fmt.Sprintf("It grew in %s, last in step %s, and not in the %s since.",
			quantity.Plural(len(e.grew), "step"), e.number(last), quantity.Plural(quiet, "step"))
	case stopped:
		j.Trend, j.Reason = Warming, fmt.Sprintf("It grew in %s up to step %s, and not in the %s since.",
			quantity.Plural(len(e.grew), "step"), e.number(last), quantity.Plural(quiet, "step"))
	case len(e.grew) < trendSome && e.steps < 2*trendSome:
		j.Reason = fmt.Sprintf("It grew in %d of the %s seen so far.", len(e.grew), quantity.Plural(e.steps, "step"))
	case len(e.grew) < trendSome:
		j.Trend, j.Reason = Steady, fmt.Sprintf("It grew in only %d of %s.", len(e.grew), quantity.Plural(e.steps, "step"))
	case e.slowing():
		j.Trend, j.Reason = Warming, fmt.Sprintf("It grew in %d of the last %s, in the later ones less than in the earlier.",
			len(e.grew), quantity.Plural(e.count(first, n), "step"))
		j.GrowthPerStep = e.perStep()
	default:
		j.GrowthPerStep, j.Steps = e.perStep(), e.count(first, n)
		e.leaking(j)
	}
}

// replaced judges a site that holds as many allocations since sample last, but
// others than before: larger ones, or of the batch's sizes.
func (e *evidence) replaced(j *Verdict, last, quiet int) bool {
	since := evidence{samples: e.samples[last:], category: e.category}
	found := Verdict{Steps: quiet}
	if since.flat(&found); found.Trend == Steady {
		return false
	}
	*j = found
	return true
}

// count returns how many steps the samples in [from, to) stand for that are not
// excused: those too that a program which measures some steps only passed over.
func (e *evidence) count(from, to int) int {
	steps, _ := e.counts(from, to)
	return steps
}

// counts returns the same, and how many of the samples are not excused.
func (e *evidence) counts(from, to int) (steps, measured int) {
	for i := max(from, 1); i < to; i++ {
		if !e.samples[i].excused() {
			steps, measured = steps+e.gap(i), measured+1
		}
	}
	return steps, measured
}

// mostGap bounds how many steps one sample stands for: a number of a step may be anything.
const mostGap = 1 << 20

// gap returns how many steps passed from the sample before to this one.
func (e *evidence) gap(i int) int {
	return int(min(max(e.samples[i].Step-e.samples[i-1].Step, 1), mostGap))
}

// risen returns by how much the low water rose at the samples in [from, to).
func (e *evidence) risen(from, to int) int {
	sum := 0
	for _, i := range e.grew {
		if i >= from && i < to {
			sum += e.low[i] - e.low[i-1]
		}
	}
	return sum
}

// slowing reports whether the later half of the growth is much less than the
// earlier, by more than one time would make up for: caches are filled quickly at
// first.
func (e *evidence) slowing() bool {
	first, n := e.grew[0], len(e.samples)
	if len(e.grew) < 5 {
		return false
	}
	middle := (first + n) / 2
	earlier, later := e.risen(first, middle), e.risen(middle, n)
	before, after := e.count(first, middle), e.count(middle, n)
	return (later+1)*before*10 <= 6*earlier*after
}

// leaking decides whether a site has grown for long enough to be a leak.
func (e *evidence) leaking(j *Verdict) {
	n := len(e.samples)
	need, why := leakOther, "longer than caches take"
	if c := e.category; c == trace.Activation || c == trace.Gradient || c == trace.Input {
		need, why = leakTransient, c.String()+"s should not outlive their step"
	}
	among := "last " + quantity.Plural(j.Steps, "step")
	if _, seen := e.counts(e.grew[0], n); seen < j.Steps {
		among = quantity.Plural(seen, "step") + " measured of the " + among
	}
	grew := fmt.Sprintf("It grew in %d of the %s, by %s a step", len(e.grew), among, quantity.Bytes(j.GrowthPerStep))
	j.Trend = Growing
	switch {
	case e.fellFrom > 0 && e.rise <= e.fellFrom*5/4:
		j.Reason = fmt.Sprintf("%s; up to step %s it had grown as far, and fell back.", grew, quantity.Count(int(e.fellAt)))
	case need == leakOther && e.distinct():
		j.Reason = grew + "; each of its tensors has a size of its own, as in a cache by shape."
	case e.everyStep(need) || e.spaced(need) || e.evenly(need):
		j.Trend, j.Reason = Suspected, grew+", and gives nothing back: "+why+"."
	case e.count(e.grew[0], n) < need:
		j.Reason = grew + fmt.Sprintf("; whether it is a cache shows within %s.", quantity.Plural(need-e.count(e.grew[0], n), "more step"))
	default:
		j.Reason = grew + ", too unevenly to tell it from a cache."
	}
}

// distinct reports whether each allocation has a size of its own.
func (e *evidence) distinct() bool {
	slices.Sort(e.sizes)
	return len(e.sizes) >= trendFew && len(slices.Compact(e.sizes)) == len(e.sizes)
}

// everyStep reports whether the site grew by the same in each of the last steps, of
// which the samples may be some. Where it grows by whole allocations a step, the end
// of a step may be noted an allocation too early or too late: its time comes from
// another clock than those of the allocations.
func (e *evidence) everyStep(need int) bool {
	steps, measured, i := 0, 0, len(e.samples)-1
	rested := false // it did not grow at a sample
	for ; i > 0 && (steps < need || measured < trendFew); i-- {
		if !e.samples[i].excused() {
			steps += e.gap(i)
			measured++
			rested = rested || e.low[i] == e.low[i-1]
		}
	}
	rate, off := float64(e.risen(i+1, len(e.samples)))/float64(max(1, steps)), 1.0
	if rate < 1 {
		off = 0.5
	}
	if steps < need || measured < trendFew || rested && rate < 1 {
		return false
	}
	level, passed, same := 0, 0, 0
	for i++; i < len(e.samples); i++ {
		if e.samples[i].excused() {
			continue
		}
		level, passed = level+e.low[i]-e.low[i-1], passed+e.gap(i)
		if math.Abs(float64(level)-rate*float64(passed)) <= off {
			same++
		}
	}
	return same*10 >= measured*9
}

// spaced reports whether the site grows once every so many steps, for a while.
func (e *evidence) spaced(need int) bool {
	if len(e.grew) < leakSpaced || e.count(e.grew[0], len(e.samples)) < need {
		return false
	}
	recent := e.grew[len(e.grew)-leakSpaced:]
	shortest, longest := len(e.samples), 0
	for k := 1; k < len(recent); k++ {
		_, gap := e.counts(recent[k-1]+1, recent[k]+1)
		shortest, longest = min(shortest, gap), max(longest, gap)
	}
	return shortest > 1 && longest <= shortest+1
}

// evenly reports whether growth that comes now and then, and far outdoes what
// comes and goes, does not slow down over a long time: whether the later half of
// it is less than the earlier by no more than chance explains.
func (e *evidence) evenly(need int) bool {
	first, n := e.grew[0], len(e.samples)
	middle := (first + n) / 2
	earlier, later := float64(e.risen(first, middle)), float64(e.risen(middle, n))
	return len(e.grew) >= need && 2*e.count(first, n) >= 5*need && e.rise >= 4*e.noise &&
		later >= earlier-math.Sqrt(earlier+later)/2
}
