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

// The operations. None does anything.

func (*Backend) Upload(device.Buffer, []byte)                                           {}
func (*Backend) Copy(_, _ device.Buffer)                                                {}
func (*Backend) Synchronize() error                                                     { return nil }
func (*Backend) CopyStrided(_, _ device.Strided, _ []int)                               {}
func (*Backend) Reduce(_ device.Reduction, _, _ device.Array, _, _, _ int)              {}
func (*Backend) Norm2(device.Array, []device.Array)                                     {}
func (*Backend) MatMul(device.MatMul)                                                   {}
func (*Backend) Fill(device.Array, float64)                                             {}
func (*Backend) Cast(_, _ device.Array)                                                 {}
func (*Backend) Unary(device.UnaryOp, device.Array, device.Array)                       {}
func (*Backend) UnaryBackward(device.UnaryOp, device.Array, device.Array, device.Array) {}
func (*Backend) Binary(device.BinaryOp, device.Array, device.Array, device.Array)       {}
func (*Backend) AddScaled(_, _, _ device.Array, _ float64)                              {}
func (*Backend) Scale(_, _ device.Array, _ float64)                                     {}
func (*Backend) ScaleBy(_, _, _ device.Array)                                           {}
func (*Backend) CrossEntropy(device.CrossEntropy)                                       {}
func (*Backend) CrossEntropyBackward(device.Array, device.CrossEntropy, device.Array)   {}
func (*Backend) Gather(_, _, _ device.Array, _, _ int)                                  {}
func (*Backend) ScatterAdd(_, _, _ device.Array, _, _ int)                              {}
func (*Backend) LayerNorm(device.Norm)                                                  {}
func (*Backend) LayerNormBackward(device.NormBackward)                                  {}
func (*Backend) RMSNorm(device.Norm)                                                    {}
func (*Backend) RMSNormBackward(device.NormBackward)                                    {}
func (*Backend) Softmax(_, _ device.Array, _, _ int)                                    {}
func (*Backend) SoftmaxBackward(_, _, _ device.Array, _, _ int)                         {}
func (*Backend) Dropout(_, _, _ device.Array, _ float64, _ device.Seed)                 {}
func (*Backend) DropoutBackward(_, _, _ device.Array, _ float64)                        {}
func (*Backend) Uniform(_ device.Array, _, _ float64, _ device.Seed)                    {}
func (*Backend) Normal(_ device.Array, _, _ float64, _ device.Seed)                     {}
func (*Backend) Attention(device.Attention)                                             {}
func (*Backend) AttentionBackward(device.AttentionBackward)                             {}
func (*Backend) Conv2D(device.Conv2D)                                                   {}
func (*Backend) Conv2DBackward(device.Conv2DBackward)                                   {}
func (*Backend) SGD(device.SGD)                                                         {}
func (*Backend) Adam(device.Adam)                                                       {}
func (*Backend) AdamW(device.Adam)                                                      {}
func (*Backend) AdamW8(device.Adam8)                                                    {}
func (*Backend) Lion(device.Lion)                                                       {}
func (*Backend) AdvanceStep(_, _ device.Array)                                          {}
func (*Backend) Unscale(_ []device.Array, _, _ device.Array)                            {}
func (*Backend) UpdateScale(_, _, _ device.Array, _, _ float64, _ int)                  {}
func (*Backend) ClipByNorm(_ []device.Array, _ device.Array, _ float64)                 {}
