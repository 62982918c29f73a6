package cuda

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// fetches are slots in pinned memory for values on their way to the host. There
// are more than a training step reads; when all are taken, Fetch waits for its
// value.
type fetches struct {
	queue  *queue
	memory pinned
	events [fetchSlots]uintptr
	taken  [fetchSlots]bool
}

const fetchSlots = 64

// fetchSlot is the size of one value and of the kernels' record of an earlier
// failure.
const fetchSlot = device.FetchBytes + kernels.FailureBytes

func (f *fetches) open() (err error) {
	d := f.queue.device
	if f.memory, err = d.pin(fetchSlots * fetchSlot); err != nil {
		return err
	}
	return d.makeEvents(f.events[:])
}

func (f *fetches) close() error {
	d := f.queue.device
	return errors.Join(d.destroyEvents(f.events[:]), d.unpin(f.memory))
}

// slot returns a free slot, −1 when there is none.
func (f *fetches) slot() int {
	for i, taken := range f.taken {
		if !taken {
			return i
		}
	}
	return -1
}

// fetched is a value in a slot, or already here.
type fetched struct {
	queue *queue
	slot  int // −1 when the value is here
	bytes int
	value [device.FetchBytes]byte
	err   error
}

// Fetch implements device.Transfers.
func (q *queue) Fetch(src device.Buffer) device.Fetched {
	if src.Bytes > device.FetchBytes {
		panic(fmt.Sprintf("cuda: fetch of %d bytes, at most %d are possible", src.Bytes, device.FetchBytes))
	}
	v := &fetched{queue: q, slot: q.fetches.slot(), bytes: int(src.Bytes)}
	if v.slot < 0 || q.err != nil {
		v.slot = -1
		v.err = q.Download(v.value[:src.Bytes], src)
		return v
	}
	at := q.fetches.memory.addr + uintptr(v.slot*fetchSlot)
	for _, copied := range []struct {
		to, from uint64
		n        int64
	}{{uint64(at), src.Addr, src.Bytes}, {uint64(at) + device.FetchBytes, q.failure.Addr, kernels.FailureBytes}} {
		q.keep(q.device.in(cuMemcpyDtoHAsync, uintptr(copied.to), uintptr(copied.from), uintptr(copied.n), q.compute))
	}
	q.keep(q.device.in(cuEventRecord, q.fetches.events[v.slot], q.compute))
	q.fetches.taken[v.slot] = true
	return v
}

// Ready implements device.Fetched.
func (v *fetched) Ready() bool {
	if v.slot < 0 {
		return true
	}
	d := v.queue.device
	defer d.leave()
	return d.enter() != nil || d.Call(cuEventQuery, v.queue.fetches.events[v.slot]) != notReady
}

// Wait implements device.Fetched. A failure that a kernel recorded before the
// value was read is a failure of the queue.
func (v *fetched) Wait(dst []byte) error {
	if v.slot < 0 {
		copy(dst, v.value[:v.bytes])
		return v.err
	}
	q := v.queue
	q.fetches.taken[v.slot] = false
	q.keep(q.device.in(cuEventSynchronize, q.fetches.events[v.slot]))
	if q.err != nil {
		return q.take()
	}
	slot := q.fetches.memory.bytes[v.slot*fetchSlot:][:fetchSlot]
	if kernels.Failure(slot[device.FetchBytes:]) != nil {
		return q.Synchronize() // which returns it once, and clears it
	}
	copy(dst, slot[:v.bytes])
	return nil
}
