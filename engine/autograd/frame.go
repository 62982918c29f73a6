package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/tensor"
)

// frame owns the values that were made while it was the innermost one.
type frame struct {
	values []*Value
}

// Frame runs f in a frame of its own. When f returns, the frame releases the
// values that f made, except f's result, which then belongs to the frame around
// it.
func (t *Tape) Frame(f func() *Value) *Value {
	depth := t.openFrame()
	out := f()
	if len(t.frames) != depth {
		panic("autograd: frames were closed out of order")
	}
	t.closeFrame(out)
	return out
}

func (t *Tape) openFrame() (depth int) {
	if len(t.frames) == 0 {
		panic("autograd: operation outside of Run")
	}
	t.frames = append(t.frames, &frame{})
	return len(t.frames)
}

// closeFrame releases the values of the innermost frame but out, which moves
// outward if the frame owns it.
func (t *Tape) closeFrame(out *Value) {
	last := len(t.frames) - 1
	f := t.frames[last]
	t.frames = t.frames[:last]
	for _, v := range f.values {
		switch {
		case v == nil || v.data.Released():
		case v == out:
			t.frames[last-1].values = append(t.frames[last-1].values, v)
		default:
			v.data.Release()
		}
	}
}

// own makes a value of the innermost frame out of a new handle on x.
func (t *Tape) own(x *tensor.Tensor) *Value {
	if len(t.frames) == 0 {
		panic("autograd: operation outside of Run")
	}
	v := &Value{data: x.Retain()}
	f := t.frames[len(t.frames)-1]
	f.values = append(f.values, v)
	return v
}

// Done releases a value now instead of with its frame, after its last use.
// Tensors that the tape saved stay. Done does nothing to values that the
// innermost frame does not own, such as a layer's inputs, so a layer may call
// Done for any value that it has just replaced.
func (t *Tape) Done(v *Value) {
	f := t.frames[len(t.frames)-1]
	for i, own := range slices.Backward(f.values) {
		if own == v {
			f.values[i] = nil
			v.data.Release()
			return
		}
	}
}

// Take makes a value of the innermost frame out of a tensor, whose handle it
// takes over. No gradient flows into it.
func (t *Tape) Take(x *tensor.Tensor) *Value {
	t.hold(x)
	mark := len(t.temps) - 1
	defer t.sweep(mark)
	return t.own(x)
}
