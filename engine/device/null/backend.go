package null

import "memtop/engine/device"

// Backend does nothing, in the place of another backend, which it asks how much
// scratch memory operations need.
type Backend struct {
	like device.Backend
}

// New returns a backend in the place of like, of which only the questions about
// workspace are called.
func New(like device.Backend) *Backend { return &Backend{like} }

var _ device.Backend = (*Backend)(nil)

// Download sets dst to zeros.
func (*Backend) Download(dst []byte, _ device.Buffer) error {
	clear(dst)
	return nil
}

// AttentionWorkspace asks the other backend.
func (b *Backend) AttentionWorkspace(a device.Attention) int64 { return b.like.AttentionWorkspace(a) }

// AttentionBackwardWorkspace asks the other backend.
func (b *Backend) AttentionBackwardWorkspace(a device.Attention) int64 {
	return b.like.AttentionBackwardWorkspace(a)
}

// Conv2DWorkspace asks the other backend.
func (b *Backend) Conv2DWorkspace(c device.Conv2D) int64 { return b.like.Conv2DWorkspace(c) }

// Conv2DBackwardWorkspace asks the other backend.
func (b *Backend) Conv2DBackwardWorkspace(c device.Conv2D) int64 {
	return b.like.Conv2DBackwardWorkspace(c)
}

// Upload does nothing.
func (*Backend) Upload(device.Buffer, []byte) {}

// Copy does nothing.
func (*Backend) Copy(_, _ device.Buffer) {}

// Synchronize does nothing.
func (*Backend) Synchronize() error { return nil }

// CopyStrided does nothing.
func (*Backend) CopyStrided(_, _ device.Strided, _ []int) {}

// Reduce does nothing.
func (*Backend) Reduce(_ device.Reduction, _, _ device.Array, _, _, _ int) {}

// Norm2 does nothing.
func (*Backend) Norm2(device.Array, []device.Array) {}

// MatMul does nothing.
func (*Backend) MatMul(device.MatMul) {}

// Fill does nothing.
func (*Backend) Fill(device.Array, float64) {}

// Cast does nothing.
func (*Backend) Cast(_, _ device.Array) {}

// Unary does nothing.
func (*Backend) Unary(device.UnaryOp, device.Array, device.Array) {}

// UnaryBackward does nothing.
func (*Backend) UnaryBackward(device.UnaryOp, device.Array, device.Array, device.Array) {}

// Binary does nothing.
func (*Backend) Binary(device.BinaryOp, device.Array, device.Array, device.Array) {}

// AddScaled does nothing.
func (*Backend) AddScaled(_, _, _ device.Array, _ float64) {}

// Scale does nothing.
func (*Backend) Scale(_, _ device.Array, _ float64) {}

// ScaleBy does nothing.
func (*Backend) ScaleBy(_, _, _ device.Array) {}

// CrossEntropy does nothing.
func (*Backend) CrossEntropy(device.CrossEntropy) {}

// CrossEntropyBackward does nothing.
func (*Backend) CrossEntropyBackward(device.Array, device.CrossEntropy, device.Array) {}

// Gather does nothing.
func (*Backend) Gather(_, _, _ device.Array, _, _ int) {}

// ScatterAdd does nothing.
func (*Backend) ScatterAdd(_, _, _ device.Array, _, _ int) {}

// LayerNorm does nothing.
func (*Backend) LayerNorm(device.Norm) {}

// LayerNormBackward does nothing.
func (*Backend) LayerNormBackward(device.NormBackward) {}

// RMSNorm does nothing.
func (*Backend) RMSNorm(device.Norm) {}

// RMSNormBackward does nothing.
func (*Backend) RMSNormBackward(device.NormBackward) {}

// Softmax does nothing.
func (*Backend) Softmax(_, _ device.Array, _, _ int) {}

// SoftmaxBackward does nothing.
func (*Backend) SoftmaxBackward(_, _, _ device.Array, _, _ int) {}

// Dropout does nothing.
func (*Backend) Dropout(_, _, _ device.Array, _ float64, _ device.Seed) {}

// DropoutBackward does nothing.
func (*Backend) DropoutBackward(_, _, _ device.Array, _ float64) {}

// Uniform does nothing.
func (*Backend) Uniform(_ device.Array, _, _ float64, _ device.Seed) {}

// Normal does nothing.
func (*Backend) Normal(_ device.Array, _, _ float64, _ device.Seed) {}

// Attention does nothing.
func (*Backend) Attention(device.Attention) {}

// AttentionBackward does nothing.
func (*Backend) AttentionBackward(device.AttentionBackward) {}

// Conv2D does nothing.
func (*Backend) Conv2D(device.Conv2D) {}

// Conv2DBackward does nothing.
func (*Backend) Conv2DBackward(device.Conv2DBackward) {}

// SGD does nothing.
func (*Backend) SGD(device.SGD) {}

// Adam does nothing.
func (*Backend) Adam(device.Adam) {}

// AdamW does nothing.
func (*Backend) AdamW(device.Adam) {}

// AdamW8 does nothing.
func (*Backend) AdamW8(device.Adam8) {}

// Lion does nothing.
func (*Backend) Lion(device.Lion) {}

// AdvanceStep does nothing.
func (*Backend) AdvanceStep(_, _ device.Array) {}

// Unscale does nothing.
func (*Backend) Unscale(_ []device.Array, _, _ device.Array) {}

// UpdateScale does nothing.
func (*Backend) UpdateScale(_, _, _ device.Array, _, _ float64, _ int) {}

// ClipByNorm does nothing.
func (*Backend) ClipByNorm(_ []device.Array, _ device.Array, _ float64) {}
