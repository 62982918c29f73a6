// Package mapped lets a program outlive the files that it has in its memory. A process
// that cuts such a file short takes pages away from under all who have mapped it, and
// the next touch of one is a fault, which ends a Go program.
//
// It maps nothing itself: files are mapped by who uses them.
package mapped

import (
	"errors"
	"runtime"
	"runtime/debug"
	"unsafe"
)

// ErrCut says that a file in memory has no longer the bytes that were touched.
var ErrCut = errors.New("it was cut short while it was in use")

// Touch calls do, which reads or writes memory that a file is mapped to, and returns what
// it returns, or ErrCut when some of that memory is not there any more: do has then stopped
// at that place. Every other panic passes. It allocates nothing.
func Touch(memory []byte, do func() error) (err error) {
	before, done := debug.SetPanicOnFault(true), false
	defer func() {
		debug.SetPanicOnFault(before)
		if done {
			return // and does not ask for a panic: that takes as long as all else here
		}
		switch r := recover(); {
		case faultIn(memory, r):
			err = ErrCut
		case r != nil:
			panic(r)
		}
	}()
	err = do()
	done = true
	return err
}

// faultIn reports whether a panic is a fault at an address in memory.
func faultIn(memory []byte, r any) bool {
	fault, ok := r.(interface {
		runtime.Error
		Addr() uintptr
	})
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	return ok && fault.Addr()-begin < uintptr(len(memory))
}
