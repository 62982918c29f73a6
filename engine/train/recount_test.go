package train

import (
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Live returns the bytes allocated on the device between steps, by category:
// parameters, optimizer state, inputs, and the parameters in half precision that
// the next step reads. It counts the tensors themselves, for comparison with the
// allocator's numbers.
func (t *Trainer) Live() (bytes [trace.CategoryCount]int64) {
	add := func(c trace.Category, x *tensor.Tensor) {
		if x != nil && x.Device() == t.config.Device {
			bytes[c] += x.Bytes()
		}
	}
	for _, p := range t.parameters {
		add(trace.Parameter, p.Data())
		add(trace.Gradient, p.Grad())
	}
	for _, b := range nn.Buffers(t.config.Model) {
		add(trace.Parameter, b.Data())
	}
	for _, s := range t.optimizer.State() {
		add(trace.Optimizer, s.Data)
	}
	if t.scaler != nil {
		bytes[trace.Optimizer] += scalerBytes
	}
	bytes[trace.Workspace] = t.ctx.Casts()
	bytes[trace.Input] = t.input.Bytes() + t.target.Bytes()
	return bytes
}

// Source is one of the things that take a device's memory.
type Source struct {
	Name  string
	Bytes int64
}

// Sources returns the parts of reserved memory: parameters, gradients, optimizer
// state and the other categories, untagged memory, and fragmentation.
// They add up to Reserved.
func (m *Memory) Sources() []Source {
	b := &m.Now
	var list []Source
	for _, c := range trace.Categories {
		list = append(list, Source{c.String(), b.Category[c]})
	}
	return append(list, Source{"fragmentation", b.Rounding + b.PendingFree + b.InactiveSplit + b.Releasable})
}
