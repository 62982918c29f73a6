package snapshots

import (
	"errors"
	"io"
)

// layer is one stream on the way from the file to the decoder: the file itself,
// or what a container in it unpacks to. It remembers what went wrong in it, and
// lets its first bytes be looked at before they are read.
type layer struct {
	name string // "" for the file itself
	r    io.Reader
	head []byte           // looked at, and not yet read
	read int64            // bytes handed out or looked at
	err  error            // what ended it, when not its end
	cut  bool             // it ends before it should
	came func(read int64) // receives how much was read, nil for none
}

// Read hands out the stream. One that was cut short simply ends: what a decoder
// can make of a beginning is the decoder's business.
func (l *layer) Read(p []byte) (int, error) {
	if len(l.head) > 0 {
		n := copy(p, l.head)
		l.head = l.head[n:]
		return n, nil
	}
	return l.next(p)
}

func (l *layer) next(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.read += int64(n)
	return n, l.after(err)
}

// after notes what came of a reading, and returns the error that ends it.
func (l *layer) after(err error) error {
	if l.came != nil {
		l.came(l.read)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		l.cut = true
		return io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		l.err = err
	}
	return err
}

// ReadAt hands out a part of the file itself, in any order. It is for layers whose stream is
// a file, and takes nothing from Read.
func (l *layer) ReadAt(p []byte, at int64) (int, error) {
	n, err := l.r.(io.ReaderAt).ReadAt(p, at)
	l.read = max(l.read, at+int64(n))
	return n, l.after(err)
}

// peek returns the first bytes of the stream, at most headBytes.
func (l *layer) peek() ([]byte, error) {
	head := make([]byte, headBytes)
	n := 0
	for n < len(head) {
		m, err := l.next(head[n:])
		n += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	l.head = head[:n]
	return l.head, nil
}
