package train

import (
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Staging is memory of a device's host in which batches wait for the device; it
// counts as the host's memory. On a GPU it is pinned, and a batch is copied
// directly from it. A nil Staging has no memory. A Staging belongs to the
// goroutine of the device; any goroutine may use the memory that it returns.
type Staging struct {
	device *tensor.Device
	made   []*tensor.Tensor
	places map[*byte]*tensor.Tensor // by their first byte
}

// NewStaging returns an empty Staging. The caller closes it after the users of
// its memory have ended.
func NewStaging(d *tensor.Device) *Staging {
	return &Staging{device: d, places: make(map[*byte]*tensor.Tensor)}
}

// Memory returns n bytes; see [data.LoaderOptions]. It fails, as tensors do, when the
// host has no memory.
func (s *Staging) Memory(n int) []byte {
	raw := s.reserve(n).Raw()
	if n > 0 {
		s.places[&raw[0]] = s.made[len(s.made)-1]
	}
	return raw
}

// Reserve takes memory for batches of a rehearsal, which stay empty.
func (s *Staging) Reserve(spec data.Spec, batch, batches int) {
	for range batches {
		s.reserve(batch * spec.Input.Bytes())
		s.reserve(batch * spec.Target.Bytes())
	}
}

func (s *Staging) reserve(n int) *tensor.Tensor {
	x := tensor.New(s.device.Host(), tensor.Shape{n}, device.UInt8, tensor.Tag{Category: trace.Input, Layer: "data", Role: "staging"})
	s.made = append(s.made, x)
	return x
}

// Batches returns how many batches there is memory for.
func (s *Staging) Batches() int {
	if s == nil {
		return 0
	}
	return len(s.made) / 2
}

// Close gives the memory back.
func (s *Staging) Close() {
	for _, x := range s.made {
		x.Release()
	}
	s.made, s.places = nil, nil
}

// upload replaces an input by bytes of a batch. The copy from staged memory may
// run until the device's next [tensor.Device.Land].
func (s *Staging) upload(to *tensor.Tensor, raw []byte) {
	place := s.place(raw)
	if place == nil || place.Bytes() != to.Bytes() {
		to.Upload(raw)
		return
	}
	from := place.As(to.Layout())
	defer from.Release()
	to.CopyFrom(from)
}

// place returns the staged tensor that consists of these bytes, nil for memory of
// Go's.
func (s *Staging) place(raw []byte) *tensor.Tensor {
	if s == nil || len(raw) == 0 {
		return nil
	}
	return s.places[&raw[0]]
}
