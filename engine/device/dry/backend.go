package dry

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
)

// Backend is a [device.Backend] whose operations do nothing.
type Backend struct{}

var _ device.Backend = Backend{}

// Upload does nothing.
func (Backend) Upload(device.Buffer, []byte) {}

// Download reads zeros.
func (Backend) Download(dst []byte, _ device.Buffer) error {
	clear(dst)
	return nil
}

// Fetch reads zeros.
func (Backend) Fetch(device.Buffer) device.Fetched { return fetched{} }

type fetched struct{}

func (fetched) Ready() bool { return true }

func (fetched) Wait(dst []byte) error {
	clear(dst)
	return nil
}

// Copy does nothing.
func (Backend) Copy(_, _ device.Buffer) {}

// Send does nothing.
func (Backend) Send(_, _ device.Buffer) device.Crossing { return crossing{} }

// Receive does nothing.
func (Backend) Receive(_, _ device.Buffer) device.Crossing { return crossing{} }

type crossing struct{}

func (crossing) Await() {}

func (crossing) Wait() error { return nil }

// OpenHost returns unlimited memory that also computes nothing.
func (Backend) OpenHost() (alloc.Driver, device.Backend, error) {
	return NewMemory(0), Backend{}, nil
}

// Synchronize does nothing.
func (Backend) Synchronize() error { return nil }

// Fill does nothing.
func (Backend) Fill(device.Array, float64) {}

// Cast does nothing.
func (Backend) Cast(_, _ device.Array) {}

// Unary does nothing.
func (Backend) Unary(device.UnaryOp, device.Array, device.Array) {}

// UnaryBackward does nothing.
func (Backend) UnaryBackward(_ device.UnaryOp, _, _, _ device.Array) {}

// Binary does nothing.
func (Backend) Binary(_ device.BinaryOp, _, _, _ device.Array) {}

// AddScaled does nothing.
func (Backend) AddScaled(_, _, _ device.Array, _ float64) {}

// Scale does nothing.
func (Backend) Scale(_, _ device.Array, _ float64) {}

// ScaleBy does nothing.
func (Backend) ScaleBy(_, _, _ device.Array) {}

// CopyStrided does nothing.
func (Backend) CopyStrided(_, _ device.Strided, _ []int) {}

// Reduce does nothing.
func (Backend) Reduce(_ device.Reduction, _, _ device.Array, _, _, _ int) {}

// Norm2 does nothing.
func (Backend) Norm2(device.Array, []device.Array) {}

// AddSquares does nothing.
func (Backend) AddSquares(device.Array, []device.Array) {}

// Root does nothing.
func (Backend) Root(device.Array, device.Array) {}

// MatMul does nothing.
func (Backend) MatMul(device.MatMulPlan) {}

// Dropout does nothing.
func (Backend) Dropout(_, _, _ device.Array, _ float64, _ device.Seed) {}

// DropoutBackward does nothing.
func (Backend) DropoutBackward(_, _, _ device.Array, _ float64) {}

// Uniform does nothing.
func (Backend) Uniform(device.Array, float64, float64, device.Seed) {}

// Normal does nothing.
func (Backend) Normal(device.Array, float64, float64, device.Seed) {}
