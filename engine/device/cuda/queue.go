package cuda

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// queue orders the device's work: the stream that computes, and one beside it
// for copies to the host and from it that operations need not wait for. It belongs to one goroutine at a time.
// The first failure is kept until a call waits for the queue; operations after
// it do nothing.
type queue struct {
	device     *Device
	compute    uintptr
	copies     uintptr
	up         *staging
	down       pinned
	scratch    device.Buffer // the kernels' own memory
	failure    device.Buffer // where a kernel records one
	report     pinned        // the host's copy of a failure
	fetches    fetches
	modules    modules
	launchCall *launchCall
	err        error
}

// downBytes is how much a download copies at a time.
const downBytes = 1 << 20

// streamNonBlocking keeps a stream from waiting for the driver's default one.
const streamNonBlocking = 1

// newQueue returns a queue. With an error the queue is incomplete and must still
// be closed.
func newQueue(d *Device) (*queue, error) {
	q := &queue{device: d, launchCall: new(launchCall), up: &staging{device: d}}
	q.fetches.queue = q
	q.modules = modules{device: d}
	for _, stream := range []*uintptr{&q.compute, &q.copies} {
		handle, err := d.words(cuStreamCreate, streamNonBlocking)
		if err != nil {
			return q, err
		}
		*stream = uintptr(handle)
	}
	if err := q.up.open(); err != nil {
		return q, err
	}
	var err error
	if q.down, err = d.pin(downBytes); err != nil {
		return q, err
	}
	if q.report, err = d.pin(kernels.FailureBytes); err != nil {
		return q, err
	}
	return q, q.fetches.open()
}

// The streams as the allocator and its snapshots number them.
const (
	ComputeStream alloc.Stream = 0
	CopyStream    alloc.Stream = 1
)

// stream returns the driver's handle of a stream.
func (q *queue) stream(s alloc.Stream) uintptr {
	switch s {
	case ComputeStream:
		return q.compute
	case CopyStream:
		return q.copies
	default:
		panic(fmt.Sprintf("cuda: there is no stream %d", s))
	}
}

// keep keeps the first failure and reports whether there is one.
func (q *queue) keep(err error) bool {
	if q.err == nil {
		q.err = err
	}
	return q.err != nil
}

// take returns the failure that was kept, and clears it: later operations work
// again, unless the context has ended.
func (q *queue) take() error {
	err := q.err
	q.err = nil
	return err
}

// Upload implements device.Transfers. The bytes go through pinned memory: src may
// be reused when the call returns.
func (q *queue) Upload(dst device.Buffer, src []byte) {
	if int64(len(src)) > dst.Bytes {
		panic(fmt.Sprintf("cuda: upload of %d bytes into %d", len(src), dst.Bytes))
	}
	for done := 0; done < len(src); {
		room, err := q.up.room(len(src)-done, q.compute)
		if q.keep(err) {
			return
		}
		n := copy(room.bytes, src[done:])
		if q.keep(q.device.in(cuMemcpyHtoDAsync, uintptr(dst.Addr)+uintptr(done), room.addr, uintptr(n), q.compute)) {
			return
		}
		done += n
	}
}

// Download implements device.Transfers.
func (q *queue) Download(dst []byte, src device.Buffer) error {
	if int64(len(dst)) > src.Bytes {
		panic(fmt.Sprintf("cuda: download of %d bytes out of %d", len(dst), src.Bytes))
	}
	for from := uintptr(src.Addr); len(dst) > 0 && q.err == nil; {
		n := min(len(dst), len(q.down.bytes))
		q.keep(q.device.in(cuMemcpyDtoHAsync, q.down.addr, from, uintptr(n), q.compute))
		if err := q.Synchronize(); err != nil {
			return err
		}
		copy(dst, q.down.bytes[:n])
		dst, from = dst[n:], from+uintptr(n)
	}
	return q.take()
}

// Copy implements device.Transfers. The driver promises no order within a copy,
// so buffers that overlap are copied through the kernels' scratch, piece by piece,
// beginning at the end that would be overwritten first.
func (q *queue) Copy(dst, src device.Buffer) {
	n, piece := src.Bytes, q.scratch.Bytes
	switch {
	case n > dst.Bytes:
		panic(fmt.Sprintf("cuda: copy of %d bytes into %d", n, dst.Bytes))
	case n == 0 || dst.Addr == src.Addr:
	case dst.Addr >= src.Addr+uint64(n) || src.Addr >= dst.Addr+uint64(n):
		q.within(dst.Addr, src.Addr, n)
	case dst.Addr < src.Addr:
		for at := int64(0); at < n; at += piece {
			q.through(dst.Addr+uint64(at), src.Addr+uint64(at), min(piece, n-at))
		}
	default:
		for end := n; end > 0; end -= piece {
			at := max(0, end-piece)
			q.through(dst.Addr+uint64(at), src.Addr+uint64(at), end-at)
		}
	}
}

// within queues a copy of n bytes between ranges that do not overlap.
func (q *queue) within(dst, src uint64, n int64) {
	if q.err == nil {
		q.keep(q.device.in(cuMemcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(n), q.compute))
	}
}

// through is within, through the scratch.
func (q *queue) through(dst, src uint64, n int64) {
	q.within(q.scratch.Addr, src, n)
	q.within(dst, q.scratch.Addr, n)
}

// closeQueue waits for the device and gives the queue's parts back.
func (q *queue) closeQueue() error {
	d := q.device
	var errs []error
	if q.compute != 0 {
		errs = append(errs, q.Synchronize())
	}
	q.modules.close()
	errs = append(errs, q.up.close(), q.fetches.close(), d.unpin(q.down), d.unpin(q.report), q.releaseOwn())
	for _, stream := range []uintptr{q.compute, q.copies} {
		if stream != 0 {
			errs = append(errs, d.in(cuStreamDestroy, stream))
		}
	}
	return errors.Join(errs...)
}
