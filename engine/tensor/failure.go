package tensor

import "fmt"

// Failure is the panic value of an operation that failed because of the machine,
// not the caller. Err is an *alloc.OOMError when there was no memory, or the
// error that the device reported. Only [Try] should recover it.
type Failure struct {
	Doing string // such as "allocate float32 [8, 128]"
	Err   error
}

// Error says what was being done and what went wrong.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %v", f.Doing, f.Err)
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error {
	return f.Err
}

// Try runs f and returns the [Failure] that ended it, or nil. Other panics go on:
// they are bugs. Memory that f allocated stays allocated; the caller of Try must
// also reset its owner, such as the tape.
func Try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Failure:
			err = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// Fail ends what [Try] runs with an error, of doing something; without one it does
// nothing.
func Fail(err error, doing string) { fail(err, "%s", doing) }

func fail(err error, doing string, values ...any) {
	if err != nil {
		panic(&Failure{Doing: fmt.Sprintf(doing, values...), Err: err})
	}
}
