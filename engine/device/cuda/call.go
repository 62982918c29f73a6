package cuda

import (
	"runtime"
	"sync"
	"unsafe"
)

// frame is memory that a call reads and writes through pointers. It is on the
// heap, where nothing moves, and kept until the call has returned.
type frame struct {
	words [4]uint64
	bytes [256]byte
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// at returns the address of word i.
func (f *frame) at(i int) uintptr { return uintptr(unsafe.Pointer(&f.words[i])) }

func (f *frame) release() {
	*f = frame{}
	frames.Put(f)
}

func newFrame() *frame { return frames.Get().(*frame) }

// text reads a string that a call wrote into the frame's bytes.
func (f *frame) text() string {
	for i, c := range f.bytes {
		if c == 0 {
			return string(f.bytes[:i])
		}
	}
	return string(f.bytes[:])
}

// calls makes calls and turns their results into errors.
type calls struct{ Driver }

// do calls a function and returns its failure.
func (c calls) do(s Symbol, args ...uintptr) error {
	if r := c.Call(s, args...); r != success {
		return c.failure(s, r)
	}
	return nil
}

// word calls a function that writes one word to its first argument.
func (c calls) word(s Symbol, args ...uintptr) (uint64, error) {
	f := newFrame()
	defer f.release()
	err := c.do(s, append([]uintptr{f.at(0)}, args...)...)
	runtime.KeepAlive(f)
	return f.words[0], err
}

// failure asks the driver for the name and the meaning of a result.
func (c calls) failure(s Symbol, r Result) error {
	return &Error{Call: s.String(), Result: r, Name: c.say(cuGetErrorName, r), Text: c.say(cuGetErrorString, r)}
}

// say asks for a text about a result, which lives in the driver.
func (c calls) say(s Symbol, r Result) string {
	f := newFrame()
	defer f.release()
	if c.Call(s, uintptr(r), f.at(0)) != success {
		return ""
	}
	return cString(uintptr(f.words[0]))
}

// cString copies a text that ends with a zero byte out of memory that Go does
// not manage; 0 is the empty text.
func cString(at uintptr) string {
	if at == 0 {
		return ""
	}
	const longest = 1024
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	text := unsafe.Slice((*byte)(p), longest)
	for n := range longest {
		if text[n] == 0 {
			return string(text[:n])
		}
	}
	return string(text)
}
