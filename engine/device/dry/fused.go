package dry

import "memtop/engine/device"

// LayerNorm does nothing.
func (Backend) LayerNorm(device.Norm) {}

// LayerNormBackward does nothing.
func (Backend) LayerNormBackward(device.NormBackward) {}

// RMSNorm does nothing.
func (Backend) RMSNorm(device.Norm) {}

// RMSNormBackward does nothing.
func (Backend) RMSNormBackward(device.NormBackward) {}

// Softmax does nothing.
func (Backend) Softmax(_, _ device.Array, _, _ int) {}

// SoftmaxBackward does nothing.
func (Backend) SoftmaxBackward(_, _, _ device.Array, _, _ int) {}

// CrossEntropy does nothing.
func (Backend) CrossEntropy(device.CrossEntropy) {}

// CrossEntropyBackward does nothing.
func (Backend) CrossEntropyBackward(device.Array, device.CrossEntropy, device.Array) {}

// Gather does nothing.
func (Backend) Gather(_, _, _ device.Array, _, _ int) {}

// ScatterAdd does nothing.
func (Backend) ScatterAdd(_, _, _ device.Array, _, _ int) {}

// Attention does nothing.
func (Backend) Attention(device.Attention) {}

// AttentionBackward does nothing.
func (Backend) AttentionBackward(device.AttentionBackward) {}

// AttentionWorkspace is that of the device.
func (b Backend) AttentionWorkspace(a device.Attention) int64 { return b.like.AttentionWorkspace(a) }

// AttentionBackwardWorkspace is that of the device.
func (b Backend) AttentionBackwardWorkspace(a device.Attention) int64 {
	return b.like.AttentionBackwardWorkspace(a)
}

// Conv2D does nothing.
func (Backend) Conv2D(device.Conv2D) {}

// Conv2DBackward does nothing.
func (Backend) Conv2DBackward(device.Conv2DBackward) {}

// Conv2DWorkspace is that of the device.
func (b Backend) Conv2DWorkspace(c device.Conv2D) int64 { return b.like.Conv2DWorkspace(c) }

// Conv2DBackwardWorkspace is that of the device.
func (b Backend) Conv2DBackwardWorkspace(c device.Conv2D) int64 {
	return b.like.Conv2DBackwardWorkspace(c)
}

// SGD does nothing.
func (Backend) SGD(device.SGD) {}

// Adam does nothing.
func (Backend) Adam(device.Adam) {}

// AdamW does nothing.
func (Backend) AdamW(device.Adam) {}

// AdamW8 does nothing.
func (Backend) AdamW8(device.Adam8) {}

// Lion does nothing.
func (Backend) Lion(device.Lion) {}

// AdvanceStep does nothing.
func (Backend) AdvanceStep(_, _ device.Array) {}

// Unscale does nothing.
func (Backend) Unscale([]device.Array, device.Array, device.Array) {}

// UpdateScale does nothing.
func (Backend) UpdateScale(_, _, _ device.Array, _, _ float64, _ int) {}

// ClipByNorm does nothing.
func (Backend) ClipByNorm([]device.Array, device.Array, float64) {}
