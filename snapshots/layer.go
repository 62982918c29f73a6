package snapshots

import (
	"errors"
	"io"
)

// layer is one stream on the way from the file to the decoder: the file itself,
// or the unpacked contents of a container. It remembers its error, and callers
// can look at its first bytes before they read them.
type layer struct {
	name string // "" for the file itself
	r    io.Reader
	head []byte           // looked at, and not yet read
	read int64            // bytes handed out or looked at
	err  error            // what ended it, when not its end
	cut  bool             // it ends before it should
	came func(read int64) // receives how much was read, nil for none
}

// Read reads the stream. A stream that was cut short simply ends: the decoder
// decides whether it can use the beginning.
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

// after notes the result of a read, and returns the error that ends the stream.
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

// ReadAt reads a part of the file itself, in any order. It is for layers whose
// stream is a file, and does not change what Read returns.
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
