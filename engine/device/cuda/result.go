package cuda

import (
	"errors"
	"fmt"

	"memtop/engine/alloc"
)

// Result is a driver's result of a call; 0 is success.
type Result int32

// The results that this package acts on; the driver names the others.
const (
	success        Result = 0
	outOfMemory    Result = 2
	unsupportedPTX Result = 222
	notReady       Result = 600
)

// Error is a call that the driver refused or that failed.
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

// sticky reports whether a failure ends the context: nothing works after it
// until the process begins anew. These are most failures of kernels (700 to 720)
// and of the hardware (214, 220, 221, 226); the call that reports one need not be
// the call that caused it.
func (r Result) sticky() bool {
	switch {
	case r >= 700 && r <= 720 && r != 704 && r != 705 && r != 708 && r != 712 && r != 713:
		return true
	case r == 214, r == 220, r == 221, r == 226:
		return true
	}
	return false
}

// UnavailableError is the reason why a device cannot be used.
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
