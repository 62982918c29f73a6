package cpu

import (
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
)

// OpenHost returns the machine's memory outside of the device, with a backend for
// it. The backend uses the device's own threads, so it belongs to the goroutine
// of the device. Closing the device closes it. The caller calls OpenHost once.
func (b *Backend) OpenHost() (alloc.Driver, device.Backend, error) {
	m, err := openMemory(HostMemory())
	if err != nil {
		return nil, nil, fmt.Errorf("cpu: reserving addresses for the host: %w", err)
	}
	b.host = &Backend{memory: m, pool: b.pool, product: b.product, pairs: b.pairs}
	return m, b.host, nil
}

// Bytes returns memory that the backend computes on, for the processor to read and
// write.
func (b *Backend) Bytes(at device.Buffer) []byte { return b.bytes("bytes", at, at.Bytes) }

// crossing is a finished copy.
type crossing struct{ backend *Backend }

// Send implements device.Transfers. The copy is done when it returns.
func (b *Backend) Send(dst, src device.Buffer) device.Crossing {
	copy(b.host.bytes("send", dst, src.Bytes), b.bytes("send", src, src.Bytes))
	return crossing{b}
}

// Receive implements device.Transfers. The copy is done when it returns.
func (b *Backend) Receive(dst, src device.Buffer) device.Crossing {
	copy(b.bytes("receive", dst, src.Bytes), b.host.bytes("receive", src, src.Bytes))
	return crossing{b}
}

// Await does nothing.
func (crossing) Await() {}

// Wait returns the first failure of the device.
func (c crossing) Wait() error { return c.backend.Synchronize() }
