package report

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/trace"
)

// Measures are what the limits of a device are held against. A report has them all, so
// that it can be held to limits without its snapshot. The frames of its sites are only
// those that tell most.
type Measures struct {
	Peak        *MeasuredPeak   `json:"peak"`
	StepsMarked int             `json:"steps_marked"`
	Growth      *MeasuredGrowth `json:"growth"` // null if the program marks too few steps
	Host        *MeasuredHost   `json:"host"`   // of the first device, null if the program does not say
}

// MeasuredPeak is the highest level.
type MeasuredPeak struct {
	RequestedBytes int64      `json:"requested_bytes"`
	Event          int        `json:"event"`
	Sites          []GateSite `json:"sites"` // what was live then, the largest first
}

// MeasuredGrowth is the growth per marked step. It is the sum over the growing sites, or
// the rise of the level in every step if that is more.
type MeasuredGrowth struct {
	BytesPerStep int64      `json:"bytes_per_step"`
	Steps        int        `json:"steps"`         // over which it was measured
	Inferred     string     `json:"inferred_from"` // always "": inferred steps do not count
	Sites        []GateSite `json:"sites"`         // the fastest first
}

// MeasuredHost is how the program's memory on the host grows per step, with that of its
// workers, and without what the kernel can drop.
type MeasuredHost struct {
	BytesPerStep int64      `json:"bytes_per_step"`
	Steps        int64      `json:"steps"` // over which it was measured
	Leaks        []HostLeak `json:"leaks"`
}

// gateSites is how many sites a broken limit lists.
const gateSites = 5

// measuresOf measures what there are limits for, and finds the sites of what exceeds
// one. The function frames returns those of a stack.
func measuresOf(x *analysis.Index, number int, limits Limits, frames func(trace.StackID) []string) (m Measures) {
	if s := x.Summary(); limits.Peak >= 0 {
		m.Peak = &MeasuredPeak{s.PeakRequested, s.PeakEvent, make([]GateSite, 0)}
		if s.PeakRequested > limits.Peak {
			holders, _ := x.AtPeak()
			for _, h := range holders[:min(len(holders), gateSites)] {
				m.Peak.Sites = append(m.Peak.Sites, GateSite{h.Bytes, h.Count, 0, frames(h.Stack), telling(x, h.Stack)})
			}
		}
	}
	if limits.PerStep >= 0 && x.StepsInferred() == iteration.None {
		m.StepsMarked, m.Growth = len(x.Steps()), growthOf(x, limits.PerStep, frames)
	}
	if limits.Host >= 0 && number == 0 {
		if bytes, steps := x.HostPerStep(); steps > 0 {
			m.Host = &MeasuredHost{bytes, steps, hostLeaks(x)}
		}
	}
	return m
}

// growthOf returns nil when the device marks too few steps.
func growthOf(x *analysis.Index, limit int64, frames func(trace.StackID) []string) *MeasuredGrowth {
	moments, grown := x.StepGrowth()
	if moments == nil {
		return nil
	}
	m := &MeasuredGrowth{BytesPerStep: x.PerStep(moments, grown), Steps: len(moments) - 1, Sites: make([]GateSite, 0)}
	if m.BytesPerStep > limit {
		for _, g := range grown[:min(len(grown), gateSites)] {
			m.Sites = append(m.Sites, GateSite{g.Bytes, g.Count, g.PerStep, frames(g.Stack), telling(x, g.Stack)})
		}
	}
	return m
}

// telling returns the frames of a stack that tell most, or what stands for a stack that
// is not known.
func telling(x *analysis.Index, stack trace.StackID) (labels []string) {
	if stack <= trace.EmptyStack {
		return []string{x.HolderName(analysis.Holder{Stack: stack})}
	}
	for _, frame := range x.Telling(stack, siteFrames) {
		label := x.FrameLabel(frame)
		if short := x.ShortLabel(frame); !strings.HasSuffix(label, short) {
			label = short // of compiled code
		}
		labels = append(labels, label)
	}
	return labels
}
