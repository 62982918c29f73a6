package category

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// communicated judges what collectives send and receive. What a backward pass reduces and leaves are gradients;
// the result of a collective that a graph keeps is an activation like any other.
func (p *panel) communicated(i int, e *trace.Event, at int) Rule {
	s := &p.stacks[e.Stack]
	if s.backs {
		if rule := p.backward(i, at); table[rule].category != trace.BackwardTemporary {
			return rule
		}
		return exchanged
	}
	switch {
	case s.maker == exchangeMaker:
		return exchanged
	case !p.lasts(i, at):
		return collected
	case p.spans[at].phase == forward:
		return p.forward(i, at)
	default:
		return p.unknown(i, e, at)
	}
}

// lasts reports whether an allocation is there when the next backward pass begins; if none follows, when its span
// has ended.
func (p *panel) lasts(i, at int) bool {
	if p.spans[at].phase != forward || p.next[at] == trace.Never {
		return p.outlives(i, at)
	}
	return p.life.Closed(i) > p.next[at]
}

// viewed reports whether gradients are views of the buckets of DistributedDataParallel: backward passes leave none
// beside them, and the trace is not so late that some could be older.
func (p *panel) viewed() bool {
	var buckets, gradients int64
	for _, i := range p.buckets {
		if at := int(i); at < p.firstBackward && p.life.Closed(at) > p.firstBackward {
			buckets += p.events.At(at).Size
		}
	}
	for bytes, count := range p.gradients {
		gradients += bytes * int64(count)
	}
	passed := slices.ContainsFunc(p.spans[:len(p.spans)-1], func(s span) bool { return s.phase == backward })
	return passed && p.built && 2*gradients < buckets
}
