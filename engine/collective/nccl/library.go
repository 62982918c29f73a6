package nccl

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// Symbol is a function of the library. Its arguments and its result are machine
// words.
type Symbol int

// The functions that are used.
const (
	GetUniqueID Symbol = iota
	CommGetAsyncError
	CommAbort
	CommFinalize
	CommDestroy
	AllReduce
	ReduceScatter
	AllGather
	Broadcast
	symbolCount = int(iota)
)

var symbolNames = [symbolCount]string{
	GetUniqueID: "ncclGetUniqueId", CommGetAsyncError: "ncclCommGetAsyncError", CommAbort: "ncclCommAbort",
	CommFinalize: "ncclCommFinalize", CommDestroy: "ncclCommDestroy", AllReduce: "ncclAllReduce",
	ReduceScatter: "ncclReduceScatter", AllGather: "ncclAllGather", Broadcast: "ncclBroadcast",
}

// The functions with arguments of other kinds.
const (
	initRankName    = "ncclCommInitRank"
	errorStringName = "ncclGetErrorString"
	lastErrorName   = "ncclGetLastError"
)

// String returns the function's name in the library.
func (s Symbol) String() string { return symbolNames[s] }

// UniqueID is NCCL's ncclUniqueId: 128 bytes that identify a communicator. The
// first process makes it.
type UniqueID struct{ words [16]uint64 }

// Bytes returns the id's memory.
func (id *UniqueID) Bytes() []byte { return bytesOf(id, int(unsafe.Sizeof(*id))) }

// Result is the ncclResult_t of a call.
type Result int32

// The results that are acted on.
const (
	Success     Result = 0
	RemoteError Result = 6 // a process has ended, or the network to it has
	InProgress  Result = 7
)

// Library is NCCL, or a stand-in in tests. Memory that an argument points to does
// not move until the call returns.
type Library interface {
	// Call calls a function with its arguments as words.
	Call(s Symbol, args ...uintptr) Result
	// InitRank is ncclCommInitRank: it returns when all processes have called it.
	InitRank(comm uintptr, size int32, id UniqueID, rank int32) Result
	// ErrorString says what a result means, LastError what went wrong last, if that is
	// known.
	ErrorString(r Result) string
	LastError() string
}

// The values of ncclRedOp_t and ncclDataType_t.
const (
	sum       = 0
	bytesType = 1 // ncclUint8
)

var dataTypes = map[device.DType]uintptr{device.Float16: 6, device.Float32: 7, device.Float64: 8, device.BFloat16: 9}

func dataType(a device.Array) uintptr {
	t, ok := dataTypes[a.DType]
	if !ok {
		panic(fmt.Sprintf("nccl: sums of %v", a.DType))
	}
	return t
}

// Error is a call that failed, at once or as the library reported later.
type Error struct {
	Call   string
	Result Result
	Text   string // what the result means
	Last   string // what went wrong, if that is known
}

// Error is one line.
func (e *Error) Error() string {
	line := fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Result)
	if e.Last != "" {
		line += ": " + e.Last
	}
	return line
}

// failure returns the error of a result.
func failure(l Library, call string, r Result) error {
	if r == Success {
		return nil
	}
	return &Error{call, r, l.ErrorString(r), strings.Join(strings.Fields(l.LastError()), " ")}
}
