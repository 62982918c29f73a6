package mpi

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
)

// entry names a function of the library.
type entry uint8

const (
	mpiInitThread entry = iota
	mpiCommRank
	mpiCommSize
	mpiAllReduce
	mpiReduceScatter
	mpiAllGather
	mpiBroadcast
	mpiBarrier
	mpiSetErrors
	mpiErrorString
	mpiOperation
	mpiFinalize
	entryCount
)

var entryNames = [entryCount]string{
	mpiInitThread: "MPI_Init_thread", mpiCommRank: "MPI_Comm_rank", mpiCommSize: "MPI_Comm_size",
	mpiAllReduce: "MPI_Allreduce", mpiReduceScatter: "MPI_Reduce_scatter_block", mpiAllGather: "MPI_Allgather",
	mpiBroadcast: "MPI_Bcast", mpiBarrier: "MPI_Barrier", mpiSetErrors: "MPI_Comm_set_errhandler",
	mpiErrorString: "MPI_Error_string", mpiOperation: "MPI_Op_create", mpiFinalize: "MPI_Finalize",
}

// library is an MPI library: its functions, and the values of its constants, which
// each make of it has its own.
type library interface {
	call(e entry, args ...uintptr) int32
	constants() constants
	// callback returns the address of a function of MPI_Op_create, of which f gets
	// the addresses of two arrays and of their 32-bit length.
	callback(f func(in, sum, n uintptr)) uintptr
}

// constants are the library's handles of what the operations name.
type constants struct {
	world, sum, inPlace, errorsReturn, bytes uintptr
	types                                    map[device.DType]uintptr
}

// group meets by MPI. All calls of the library are made by one thread,
// which is what the least level of its thread support allows.
type group struct {
	library    library
	is         constants
	rank, size int
	halves     map[device.DType]uintptr // the sums of types that MPI does not know
	queue      chan *operation
	failure    error // of the worker
	words      words
	// What operations took, and what was waited for, in nanoseconds.
	communicated, waited atomic.Int64
}

// words is what the library writes through pointers. It is part of the group because
// that lies on the heap: what a function has may lie on its stack, which moves when it
// grows, and the library would write to where it was.
type words struct {
	level, rank, size int32 // of thread support; of the processes
	sum               uintptr
	text              [1024]byte // no make of MPI has longer ones
	length            int32
}

// longestText is how long the library's words for an error are at most.
const longestText = int32(len(words{}.text))

func address[T any](at *T) uintptr { return uintptr(unsafe.Pointer(at)) }

// operation is a call that the worker makes.
type operation struct {
	entry entry
	args  []uintptr
	group *group
	done  chan struct{}
	err   error
}

// queued is how many operations wait for the worker before a caller does.
const queued = 1024

// join joins the processes that a launcher has started.
func join(l library) (*group, error) {
	m := &group{library: l, is: l.constants(), queue: make(chan *operation, queued)}
	started := make(chan error)
	go m.work(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return m, nil
}

// work makes the calls, in the order of the queue. After one that failed it makes no
// other: the processes would no longer do the same.
func (m *group) work(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := m.start()
	started <- err
	if err != nil {
		return
	}
	for o := range m.queue {
		if m.failure == nil {
			began := time.Now()
			m.failure = m.do(o.entry, o.args...)
			m.communicated.Add(time.Since(began).Nanoseconds())
		}
		o.err = m.failure
		close(o.done)
	}
}

// start begins MPI on the calling thread.
func (m *group) start() error {
	w := &m.words
	const funneled = 1
	if err := m.do(mpiInitThread, 0, 0, funneled, address(&w.level)); err != nil {
		return err
	}
	if err := m.do(mpiSetErrors, m.is.world, m.is.errorsReturn); err != nil {
		return err
	}
	if err := errors.Join(m.do(mpiCommRank, m.is.world, address(&w.rank)), m.do(mpiCommSize, m.is.world, address(&w.size))); err != nil {
		return err
	}
	m.rank, m.size = int(w.rank), int(w.size)
	return m.addHalves()
}

// do makes a call and turns its result into an error.
func (m *group) do(e entry, args ...uintptr) error {
	code := m.library.call(e, args...)
	if code == 0 {
		return nil
	}
	w := &m.words
	if m.library.call(mpiErrorString, uintptr(code), address(&w.text), address(&w.length)) != 0 || w.length < 0 || w.length > longestText {
		return fmt.Errorf("%s: error %d", entryNames[e], code)
	}
	return fmt.Errorf("%s: %s", entryNames[e], w.text[:w.length])
}

func (m *group) enqueue(e entry, args ...uintptr) collective.Pending {
	o := &operation{entry: e, args: args, group: m, done: make(chan struct{})}
	m.queue <- o
	return o
}

// Wait implements collective.Pending.
func (o *operation) Wait() error {
	select {
	case <-o.done:
	default:
		began := time.Now()
		<-o.done
		o.group.waited.Add(time.Since(began).Nanoseconds())
	}
	return o.err
}

// Times implements collective.Timed.
func (m *group) Times() collective.Times {
	return collective.Times{Communicated: time.Duration(m.communicated.Load()), Waited: time.Duration(m.waited.Load())}
}

// Rank implements collective.Group.
func (m *group) Rank() int { return m.rank }

// Size implements collective.Group.
func (m *group) Size() int { return m.size }

// AllReduce implements collective.Group.
func (m *group) AllReduce(a device.Array) collective.Pending {
	return m.enqueue(mpiAllReduce, m.is.inPlace, uintptr(a.Addr), count(int64(a.Len)), m.typeOf(a), m.sumOf(a), m.is.world)
}

// ReduceScatter implements collective.Group.
func (m *group) ReduceScatter(dst, src device.Array) collective.Pending {
	checkParts("reduce-scatter", m.size, src, dst)
	return m.enqueue(mpiReduceScatter, uintptr(src.Addr), uintptr(dst.Addr), count(int64(dst.Len)), m.typeOf(src), m.sumOf(src), m.is.world)
}

// AllGather implements collective.Group.
func (m *group) AllGather(dst, src device.Array) collective.Pending {
	checkParts("all-gather", m.size, dst, src)
	from := uintptr(src.Addr)
	bytes := int64(src.Len) * src.DType.Size()
	if src.Addr == dst.Addr+uint64(int64(m.rank)*bytes) {
		from = m.is.inPlace
	}
	return m.enqueue(mpiAllGather, from, count(bytes), m.is.bytes, uintptr(dst.Addr), count(bytes), m.is.bytes, m.is.world)
}

// Broadcast implements collective.Group.
func (m *group) Broadcast(a device.Array, root int) collective.Pending {
	return m.enqueue(mpiBroadcast, uintptr(a.Addr), count(int64(a.Len)*a.DType.Size()), m.is.bytes, uintptr(root), m.is.world)
}

// Host implements collective.Group.
func (m *group) Host() collective.Group { return m }

// Barrier implements collective.Group.
func (m *group) Barrier() error { return m.enqueue(mpiBarrier, m.is.world).Wait() }

// Close implements collective.Group.
func (m *group) Close() error {
	err := m.enqueue(mpiFinalize).Wait()
	close(m.queue)
	return err
}

// typeOf returns the library's name of an array's type.
func (m *group) typeOf(a device.Array) uintptr {
	t, ok := m.is.types[a.DType]
	if !ok {
		panic(fmt.Sprintf("mpi: sums of %v", a.DType))
	}
	return t
}
