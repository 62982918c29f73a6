package report

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// LearntOf returns the alarming verdicts on a running program's sites: what to tell its
// probe. It returns false as long as no whole step was measured.
func LearntOf(t *trace.Trace) ([]trace.Learnt, bool) {
	r := measured(lastIndex(t))
	r.addLeaks()
	return slices.DeleteFunc(r.Leaks, func(l trace.Learnt) bool { return !alarming(l.Verdict) }), !r.Looking && r.BehindSteps != nil
}

func alarming(verdict string) bool {
	for trend := leak.Growing; trend <= leak.Unreachable; trend++ {
		if trend.String() == verdict {
			return true
		}
	}
	return false
}

// addLeaks adds the verdicts on sites, as in the findings and on the page of tensors, and
// those of earlier viewers that rest on more steps, unless the memory was given back since.
func (r *Live) addLeaks() {
	x, allocated := r.index, int64(0)
	if r.AllocatedBytes != nil {
		allocated = *r.AllocatedBytes
	}
	sites := x.Sites(analysis.LastStepEnd(x))
	slices.SortStableFunc(sites, func(a, b leak.Site) int { return cmp.Compare(b.Trend, a.Trend) })
	r.Leaks = make([]trace.Learnt, 0)
	older := make(map[string]bool)
	for _, l := range r.learnt() {
		at := slices.IndexFunc(sites, func(s leak.Site) bool { return s.Name == l.Site })
		switch {
		case r.Looking: // nothing else is known
		case at >= 0 && sites[at].Steps >= l.StepsObserved:
			continue
		case at >= 0 && sites[at].Bytes >= l.Bytes/2:
			l.Bytes, l.Count = sites[at].Bytes, sites[at].Count
		case at >= 0 || allocated < l.Allocated-l.Bytes/2:
			continue // given back
		}
		older[l.Site] = true
		r.Leaks = append(r.Leaks, l)
	}
	for i := range sites {
		s := &sites[i]
		if s.Trend <= leak.Steady || older[s.Name] {
			continue
		}
		r.Leaks = append(r.Leaks, trace.Learnt{
			Site: s.Name, Verdict: s.Trend.String(), Bytes: s.Bytes, Count: s.Count,
			GrowthPerStep: s.GrowthPerStep, StepsObserved: s.Steps, Reason: s.Reason, Step: r.Step, Allocated: allocated,
		})
	}
}

// learnt returns what earlier viewers learnt.
func (r *Live) learnt() []trace.Learnt {
	if live := r.index.Trace().Live; live != nil {
		return live.Learnt
	}
	return nil
}
