// Package nccltest imitates NCCL for tests. It sums over processes and
// goroutines, each with a GPU of package cudatest. An operation is queued on the
// stream that the caller gives, and runs when the stream does, over sockets of
// this machine. If a peer is gone, the others wait until they abort, as on real
// GPUs.
package nccltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/engine/collective/nccl"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// Library is the imitated NCCL of one process. It is safe for concurrent use.
type Library struct {
	driver *cudatest.Driver
	mu     sync.Mutex
	calls  []string
	fails  map[string]nccl.Result
	late   nccl.Result // what CommGetAsyncError reports
	meeting
}

// New returns a library that works on the GPUs of a driver.
func New(d *cudatest.Driver) *Library {
	return &Library{driver: d, fails: make(map[string]nccl.Result), meeting: meeting{aborted: make(chan struct{})}}
}

// Fail makes the next calls of a function fail.
func (l *Library) Fail(function string, r nccl.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails[function] = r
}

// Report makes the library report, from now on, a failure that no call has
// returned.
func (l *Library) Report(r nccl.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = r
}

// Calls returns the functions that were called, in order, without those that only
// query.
func (l *Library) Calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// enter notes a call and returns the result that Fail has set for it.
func (l *Library) enter(function string) nccl.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, function)
	return l.fails[function]
}

// InitRank implements nccl.Library.
func (l *Library) InitRank(comm uintptr, size int32, id nccl.UniqueID, rank int32) nccl.Result {
	if r := l.enter("ncclCommInitRank"); r != nccl.Success {
		return r
	}
	*(*uintptr)(at(comm)) = communicator
	return l.meet(int(size), int(rank), &id)
}

// communicator is the one that there is.
const communicator = 0xc033

// Call implements nccl.Library.
func (l *Library) Call(s nccl.Symbol, a ...uintptr) nccl.Result {
	if s == nccl.CommGetAsyncError {
		l.mu.Lock()
		defer l.mu.Unlock()
		*(*nccl.Result)(at(a[1])) = l.late
		return nccl.Success
	}
	if r := l.enter(s.String()); r != nccl.Success {
		return r
	}
	switch s {
	case nccl.GetUniqueID:
		return l.listen((*nccl.UniqueID)(at(a[0])))
	case nccl.CommAbort, nccl.CommDestroy:
		l.end()
	case nccl.CommFinalize:
	default:
		return l.queue(s, a)
	}
	return nccl.Success
}

// cudaError is the result for memory that is not the device's.
const cudaError nccl.Result = 1

// queue queues the work of an operation.
func (l *Library) queue(s nccl.Symbol, a []uintptr) nccl.Result {
	comm, stream := a[len(a)-2], a[len(a)-1]
	if comm != communicator {
		panic("nccltest: this is no communicator")
	}
	o := operation{symbol: s, send: a[0], receive: a[1], count: int(a[2]), kind: a[3], root: int(a[4])}
	sent, received := o.bytes(l.size)
	if !l.driver.OnDevice(o.send, sent) || !l.driver.OnDevice(o.receive, received) {
		return cudaError
	}
	l.driver.Queue(stream, func() cuda.Result {
		if l.exchange(&o) != nil {
			<-l.aborted
		}
		l.driver.Wrote(o.receive, received)
		return 0
	})
	return nccl.Success
}

// ErrorString implements nccl.Library.
func (l *Library) ErrorString(r nccl.Result) string {
	if r == nccl.RemoteError {
		return "remote process exited or there was a network error"
	}
	return "an error of a test"
}

// LastError implements nccl.Library.
func (*Library) LastError() string { return "" }

// operation is what an operation was called with. count is in elements of its type: of
// all that is sent, or of what is received of a scattered sum.
type operation struct {
	symbol        nccl.Symbol
	send, receive uintptr
	count         int
	kind          uintptr
	root          int
}

// kinds are the types by their numbers in the library.
var kinds = map[uintptr]device.DType{1: device.UInt8, 6: device.Float16, 7: device.Float32, 8: device.Float64, 9: device.BFloat16}

// bytes returns how much the process gives and gets in a group of a size.
func (o *operation) bytes(size int) (sent, received int) {
	n := o.count * int(kinds[o.kind].Size())
	switch o.symbol {
	case nccl.ReduceScatter:
		return n * size, n
	case nccl.AllGather:
		return n, n * size
	default:
		return n, n
	}
}

// sent returns what the process gives.
func (o *operation) sent(size int) []byte {
	n, _ := o.bytes(size)
	return memory(o.send, n)
}

// finish writes what comes of all that was given.
func (o *operation) finish(all [][]byte, rank int) {
	var result []byte
	switch o.symbol {
	case nccl.Broadcast:
		result = all[o.root]
	case nccl.AllGather:
		result = slices.Concat(all...)
	default:
		result = sum(kinds[o.kind], all)
	}
	if o.symbol == nccl.ReduceScatter {
		part := len(result) / len(all)
		result = result[rank*part:][:part]
	}
	copy(memory(o.receive, len(result)), result)
}

func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func memory(p uintptr, n int) []byte { return unsafe.Slice((*byte)(at(p)), n) }

// sum adds the values of the processes, in the order of their ranks. It rounds
// after each addition.
func sum(kind device.DType, all [][]byte) []byte {
	total := append([]byte(nil), all[0]...)
	size := int(kind.Size())
	for _, b := range all[1:] {
		for i := 0; i < len(total); i += size {
			add(kind, total[i:], b[i:])
		}
	}
	return total
}

func add(kind device.DType, to, b []byte) {
	e := binary.LittleEndian
	switch kind {
	case device.Float32:
		e.PutUint32(to, math.Float32bits(math.Float32frombits(e.Uint32(to))+math.Float32frombits(e.Uint32(b))))
	case device.Float64:
		e.PutUint64(to, math.Float64bits(math.Float64frombits(e.Uint64(to))+math.Float64frombits(e.Uint64(b))))
	case device.Float16:
		e.PutUint16(to, device.Float32ToFloat16(device.Float16ToFloat32(e.Uint16(to))+device.Float16ToFloat32(e.Uint16(b))))
	case device.BFloat16:
		e.PutUint16(to, device.Float32ToBFloat16(device.BFloat16ToFloat32(e.Uint16(to))+device.BFloat16ToFloat32(e.Uint16(b))))
	default:
		panic(fmt.Sprintf("nccltest: sums of %v", kind))
	}
}
