package cuda

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
)

// Result is a driver's result of a call; 0 is success.
type Result int32

// The results that this package acts on; the driver names the others.
const (
	success        Result = 0
	outOfMemory    Result = 2
	invalidImage   Result = 200
	noBinaryForGPU Result = 209
	invalidPTX     Result = 218
	unsupportedPTX Result = 222
	notReady       Result = 600
)

// Error is a failed call of the driver.
type Error struct {
	Call   string // the entry point
	Result Result
	Name   string // the driver's own, such as "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string // the driver's explanation
}

// Error is one line.
func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = "an unknown error"
	}
	line := fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Result)
	if e.Text != "" {
		line += ": " + e.Text
	}
	return line
}

// Is makes the driver's result for a lack of memory an alloc.ErrNoMemory.
func (e *Error) Is(target error) bool {
	return target == alloc.ErrNoMemory && e.Result == outOfMemory
}

// consequence is what a failure means for the calls after it.
type consequence int

const (
	failsCall   consequence = iota // nothing: they may succeed
	endsContext                    // they all fail, until the process begins anew
	provesBug                      // the caller passed what it must not
)

// consequences follows the text of every result in the driver API's
// documentation of CUresult (cuda.h of CUDA 13.2). A context ends where that
// says that the process must be relaunched, or the context is destroyed or
// cannot be used any more; the call that reports it need not be the call that
// caused it. Of 214 and 220 it says no more than that an error of the hardware
// was not corrected: what is computed afterwards cannot be trusted. A result
// that is not listed fails its call.
var consequences = map[Result]consequence{
	1:   provesBug,   // INVALID_VALUE
	3:   provesBug,   // NOT_INITIALIZED
	4:   endsContext, // DEINITIALIZED
	101: provesBug,   // INVALID_DEVICE
	201: provesBug,   // INVALID_CONTEXT
	214: endsContext, // ECC_UNCORRECTABLE
	220: endsContext, // NVLINK_UNCORRECTABLE
	226: endsContext, // CONTAINED
	400: provesBug,   // INVALID_HANDLE
	700: endsContext, // ILLEGAL_ADDRESS
	702: endsContext, // LAUNCH_TIMEOUT
	709: endsContext, // CONTEXT_IS_DESTROYED
	710: endsContext, // ASSERT
	713: provesBug,   // HOST_MEMORY_NOT_REGISTERED
	714: endsContext, // HARDWARE_STACK_ERROR
	715: endsContext, // ILLEGAL_INSTRUCTION
	716: endsContext, // MISALIGNED_ADDRESS
	717: endsContext, // INVALID_ADDRESS_SPACE
	718: endsContext, // INVALID_PC
	719: endsContext, // LAUNCH_FAILED
	721: endsContext, // TENSOR_MEMORY_LEAK
	810: endsContext, // MPS_CLIENT_TERMINATED
	911: endsContext, // EXTERNAL_DEVICE
}

// EndsContext reports whether nothing works after a failure until the process
// begins anew.
func (r Result) EndsContext() bool { return consequences[r] == endsContext }

// UnavailableError says why a device cannot be used.
type UnavailableError struct {
	Reason string
	Err    error // the driver's or loader's error, if any
}

// Error is one line.
func (e *UnavailableError) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Unavailable reports whether err means that a device cannot be used, rather
// than that it failed.
func Unavailable(err error) bool {
	var u *UnavailableError
	return errors.As(err, &u)
}
