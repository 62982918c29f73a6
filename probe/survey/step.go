// Package survey predicts what a step of a PyTorch program would need if its backward
// pass recomputed some blocks of the model. The program's agent notes one step, see
// memtop/settings/course.py. Each question plays that step twice: as it was, and as it
// would be. The storages that the agent knows give the activations, and the peak of a
// program without a caching allocator (storages.go). On a device the blocks of its
// allocator give the peak: operators need more than storages for a moment (blocks.go).
package survey

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// The setting that says which blocks are recomputed, and the value for none.
const key, off = "checkpoint", "off"

// Step is what the agent noted of a step that recomputed nothing.
type Step struct {
	Storages []Storage
	Moments  []Moment
	Blocks   []Block
	Values   []trace.Value     // of other settings that decide what a step needs
	Memory   *trace.StepBlocks // nil if it is not known, or there is no caching allocator
}

// Storage is a piece of memory that a tensor has. Calls are forwards of the model's
// blocks, numbered from 1; 0 stands for the code outside of blocks.
type Storage struct {
	Addr  uint64
	Size  int64
	Made  int64 // the call that made it, -1 if it was there before the step
	Cast  bool  // autocast keeps it until the forward ends
	Saved []int64
	Given []int64 // the calls whose input it is
}

// Moment is a storage's change from one category to another, "" for none. A negative
// number stands for no storage: at -1 the forward of a model ended, at -1-n the backward
// of call n began.
type Moment struct {
	Storage       int64
	Requests      int64 // how many the allocator had had in the step, if that matters
	Before, After string
}

// Block is a part of the model that can be recomputed.
type Block struct {
	Name     string
	Calls    []int64
	Half     bool // the value half recomputes it
	Uncached bool // then it does not fill a cache: its model's own switch is used
}

// Predict says what a change would do to what a step needs, nil if that is not known.
// The options have the values in use.
func (s *Step) Predict(options []trace.Option, to trace.Value) *trace.Prediction {
	now := off
	for _, o := range options {
		if o.Key == key {
			now = o.Value
		}
		for _, v := range s.Values {
			if o.Key == v.Key && o.Value != v.Value {
				return nil // the step ran in another way
			}
		}
	}
	before, after := s.recomputed(now), s.recomputed(to.Value)
	if to.Key != key || len(after) == 0 && to.Value != off {
		return nil
	}
	was, is := s.needs(before), s.needs(after)
	return &trace.Prediction{PeakAllocated: is.peak - was.peak, Activation: is.activations - was.activations}
}

// recomputed are the calls that are recomputed when their backward begins, and whether
// they then do not fill a cache.
type recomputed map[int64]bool

func (s *Step) recomputed(value string) recomputed {
	r := make(recomputed)
	for _, b := range s.Blocks {
		if b.chosen(value) {
			for _, call := range b.Calls {
				r[call] = b.Uncached
			}
		}
	}
	return r
}

// count returns how many of the calls are recomputed.
func (r recomputed) count(calls []int64) (n int) {
	for _, call := range calls {
		if _, is := r[call]; is {
			n++
		}
	}
	return n
}

// chosen reports whether a value of the setting recomputes the block.
func (b *Block) chosen(value string) bool {
	names, named := strings.CutPrefix(value, "layers=")
	if !named {
		return value == "all" || value == "half" && b.Half
	}
	for name := range strings.SplitSeq(names, "+") {
		if strings.HasPrefix(b.Name+".", name+".") {
			return true
		}
	}
	return false
}

// needs are what a step needs, in bytes.
type needs struct{ peak, activations int64 }

func (s *Step) needs(r recomputed) needs {
	absent := s.absent(r)
	n := s.play(absent)
	if s.Memory != nil {
		n.peak = s.onDevice().play(absent).peak
	}
	return n
}

// never is a call whose backward never begins.
const never = 0

// absent returns the storages that are not kept, by number, and the call whose backward
// makes them again.
func (s *Step) absent(r recomputed) map[int64]int64 {
	absent := make(map[int64]int64)
	for i := range s.Storages {
		m := &s.Storages[i]
		uncached, made := r[m.Made]
		switch {
		case made && len(m.Saved) > 0 && r.count(m.Saved) == len(m.Saved) && r.count(m.Given) == 0:
			absent[int64(i)] = m.Made
		case uncached && len(m.Saved) == 0 && len(m.Given) == 0:
			absent[int64(i)] = never
		}
	}
	return absent
}
