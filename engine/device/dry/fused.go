package dry

import "github.com/memtop/memtop/engine/device"

// Normalize does nothing.
func (Backend) Normalize(device.NormPlan) {}

// NormalizeBackward does nothing.
func (Backend) NormalizeBackward(device.NormBackwardPlan) {}

// Softmax does nothing.
func (Backend) Softmax(_, _ device.Array, _, _ int, _ bool) {}

// SoftmaxBackward does nothing.
func (Backend) SoftmaxBackward(_, _, _ device.Array, _, _ int) {}

// CrossEntropy does nothing.
func (Backend) CrossEntropy(device.CrossEntropy) {}

// CrossEntropyBackward does nothing.
func (Backend) CrossEntropyBackward(device.Array, device.CrossEntropy, device.Array) {}

// CrossEntropyBoth does nothing.
func (Backend) CrossEntropyBoth(device.Array, device.CrossEntropy, device.Array) {}

// Gather does nothing.
func (Backend) Gather(_, _, _ device.Array, _, _ int) {}

// ScatterAdd does nothing.
func (Backend) ScatterAdd(_, _, _ device.Array, _, _ int) {}

// Attention does nothing.
func (Backend) Attention(device.AttentionPlan) {}

// AttentionBackward does nothing.
func (Backend) AttentionBackward(device.AttentionBackwardPlan) {}

// Conv2D does nothing.
func (Backend) Conv2D(device.ConvPlan) {}

// Conv2DBackward does nothing.
func (Backend) Conv2DBackward(device.ConvBackwardPlan) {}

// Update does nothing.
func (Backend) Update(device.UpdatePlan) {}

// AdvanceStep does nothing.
func (Backend) AdvanceStep(_, _ device.Array) {}

// Unscale does nothing.
func (Backend) Unscale([]device.Array, device.Array, device.Array) {}

// UpdateScale does nothing.
func (Backend) UpdateScale(_, _, _ device.Array, _, _ float64, _ int) {}
