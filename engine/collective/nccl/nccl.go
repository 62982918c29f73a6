package nccl

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// group implements collective.Group.
type group struct {
	library    Library
	device     *cuda.Device
	rank, size int
	beside     *cuda.Beside
	written    written
	host       collective.Group
	staging    device.Buffer // for what lies on the host, from the driver: the allocator's events are those of the model
	// calls is held by the goroutine that makes a call of the communicator, and for
	// ever by the one that has aborted it; lost is closed first.
	calls   chan struct{}
	lost    chan struct{}
	leaving atomic.Bool // the processes have begun to end the group
	watch   watch
}

// written is what the library and the device write through pointers. It is part of the
// group because that lies on the heap: what a function has may lie on its stack, which
// moves when it grows.
type written struct {
	id   UniqueID
	comm uintptr
	late Result     // of CommGetAsyncError
	word [1]float32 // of Barrier
}

func newGroup(l Library, o *Options) *group {
	g := &group{library: l, device: o.Device, rank: o.Rank, size: o.Size, host: o.Host, calls: make(chan struct{}, 1), lost: make(chan struct{})}
	if g.host == nil {
		g.host = staged{g}
	}
	return g
}

// meet makes the communicator. It is called with the device's context.
func (g *group) meet(share func([]byte) error) error {
	w := &g.written
	if g.rank == 0 {
		if err := g.try(GetUniqueID, uintptr(unsafe.Pointer(&w.id))); err != nil {
			return err
		}
	}
	if err := share(w.id.Bytes()); err != nil {
		return err
	}
	return failure(g.library, initRankName, g.library.InitRank(uintptr(unsafe.Pointer(&w.comm)), int32(g.size), w.id, int32(g.rank)))
}

// start makes what the operations need beside the communicator.
func (g *group) start() (err error) {
	if g.beside, err = g.device.OpenBeside(); err != nil {
		return err
	}
	g.staging.Bytes = stagingBytes
	if g.staging.Addr, err = g.device.Malloc(stagingBytes); err != nil {
		return err
	}
	return g.startWatch()
}

// try makes a call and returns its failure.
func (g *group) try(s Symbol, args ...uintptr) error {
	return failure(g.library, s.String(), g.library.Call(s, args...))
}

// do makes a call of the communicator, unless that is gone.
func (g *group) do(s Symbol, args ...uintptr) error {
	select {
	case g.calls <- struct{}{}:
		defer func() { <-g.calls }()
		return g.try(s, args...)
	case <-g.lost:
		return g.device.Failed()
	}
}

// queue queues an operation, whose last arguments are the communicator and the stream.
// One that fails ends the use of the device: the processes would no longer do the same.
func (g *group) queue(s Symbol, args ...uintptr) collective.Pending {
	point, err := g.beside.Queue(func(stream uintptr) error { return g.do(s, append(args, g.written.comm, stream)...) })
	if err != nil {
		g.device.Fail(err)
		return done{g.device.Failed()}
	}
	return queued{point}
}

// queued is an operation of the device.
type queued struct{ point *cuda.Point }

// Wait implements collective.Pending.
func (q queued) Wait() error { return q.point.Await() }

// done is an operation that is over.
type done struct{ err error }

// Wait implements collective.Pending.
func (d done) Wait() error { return d.err }

// Rank implements collective.Group.
func (g *group) Rank() int { return g.rank }

// Size implements collective.Group.
func (g *group) Size() int { return g.size }

// Host implements collective.Group.
func (g *group) Host() collective.Group { return g.host }

// AllReduce implements collective.Group.
func (g *group) AllReduce(a device.Array) collective.Pending {
	return g.queue(AllReduce, uintptr(a.Addr), uintptr(a.Addr), uintptr(a.Len), dataType(a), sum)
}

// ReduceScatter implements collective.Group.
func (g *group) ReduceScatter(dst, src device.Array) collective.Pending {
	g.checkParts("reduce-scatter", src, dst)
	return g.queue(ReduceScatter, uintptr(src.Addr), uintptr(dst.Addr), uintptr(dst.Len), dataType(src), sum)
}

// AllGather implements collective.Group.
func (g *group) AllGather(dst, src device.Array) collective.Pending {
	g.checkParts("all-gather", dst, src)
	return g.queue(AllGather, uintptr(src.Addr), uintptr(dst.Addr), uintptr(src.Buffer().Bytes), bytesType)
}

// Broadcast implements collective.Group.
func (g *group) Broadcast(a device.Array, root int) collective.Pending {
	return g.queue(Broadcast, uintptr(a.Addr), uintptr(a.Addr), uintptr(a.Buffer().Bytes), bytesType, uintptr(root))
}

// checkParts panics unless whole has a part of the same type for every process.
func (g *group) checkParts(operation string, whole, part device.Array) {
	if whole.DType != part.DType || whole.Len != g.size*part.Len {
		panic(fmt.Sprintf("nccl: %s of %v in %d parts of %v", operation, whole, g.size, part))
	}
}

// Barrier implements collective.Group. It waits for all operations before it.
func (g *group) Barrier() error {
	return staged{g}.AllReduce(device.Array{Addr: addressOf(g.written.word[:]), Len: 1, DType: device.Float32}).Wait()
}

// Close implements collective.Group.
func (g *group) Close() error {
	g.leaving.Store(true)
	err := g.Barrier()
	g.watch.end()
	if err == nil {
		err = g.device.Bind(func() error {
			return errors.Join(g.do(CommFinalize, g.written.comm), g.do(CommDestroy, g.written.comm))
		})
	}
	err = errors.Join(err, g.beside.Close())
	g.device.Free(g.staging.Addr)
	if _, own := g.host.(staged); own {
		return err
	}
	return errors.Join(err, g.host.Close())
}
