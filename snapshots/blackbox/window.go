package blackbox

import (
	"errors"
	"io"
)

// windowBytes is how much of a box is in memory at once. No entry of a ring lies across two
// windows.
const windowBytes = 1 << 20

// window reads the bytes of a box and keeps only a part in memory: a file may
// claim any size, and most of it may be a hole.
type window struct {
	r    io.ReaderAt
	size int // bytes of the box
	from int // where the part in memory begins
	part []byte
	err  error // the first error of reading
}

// bytes returns n bytes from a place on, valid until the next call; false if
// there are fewer.
func (w *window) bytes(at, n int) ([]byte, bool) {
	if at < 0 || at+n > w.size || w.err != nil {
		return nil, false
	}
	if at < w.from || at+n > w.from+len(w.part) {
		w.move(at)
	}
	if at+n > w.from+len(w.part) {
		return nil, false
	}
	return w.part[at-w.from:][:n], true
}

// move reads the window around a place.
func (w *window) move(at int) {
	w.from = at &^ (windowBytes - 1)
	if cap(w.part) == 0 {
		w.part = make([]byte, min(w.size, windowBytes))
	}
	w.part = w.part[:min(w.size-w.from, cap(w.part))]
	got, _ := w.ReadAt(w.part, int64(w.from)) // its error is kept
	w.part = w.part[:got]
}

// ReadAt reads the box directly, without the window.
func (w *window) ReadAt(p []byte, at int64) (int, error) {
	n, err := w.r.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
