// Package mapped protects a program that has mapped a file into its memory. When
// another process cuts the file short, pages disappear from every mapping of it.
// The next access to such a page is a fault, which ends a Go program.
//
// The package maps no files itself: its callers do.
package mapped

import (
	"errors"
	"runtime"
	"runtime/debug"
	"unsafe"
)

// ErrCut says that a mapped file no longer has the accessed bytes.
var ErrCut = errors.New("it was cut short while it was in use")

// Touch calls do, which reads or writes the memory of a mapped file. It returns
// do's error, or ErrCut if some of that memory has disappeared: do has then
// stopped at that place. Other panics pass through. Touch allocates nothing.
func Touch(memory []byte, do func() error) (err error) {
	before, done := debug.SetPanicOnFault(true), false
	defer func() {
		debug.SetPanicOnFault(before)
		if done {
			return // without recover: it would take as long as everything else here
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
