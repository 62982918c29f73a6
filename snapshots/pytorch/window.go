package pytorch

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
)

const (
	// lookahead is how much input the window holds at an opcode, unless the
	// input ends before: more than any stack of frames.
	lookahead = 1 << 14
	// longestLine bounds the operands of protocol 0, and so what the window keeps
	// when it goes on.
	longestLine = 1 << 19
	// freshBytes is how much of the input is read at once.
	freshBytes = 1 << 19
)

// memory is what a window needs: room for the unread rest, and what is read after it.
type memory [longestLine + freshBytes]byte

// memories are kept for the next file. If a program reads many small files, clearing
// new memory would cost more than reading them.
var memories = sync.Pool{New: func() any { return new(memory) }}

// window is a sliding view of the input. Operands that fit in lookahead are read
// in place, longer ones in pieces.
type window struct {
	ctx    context.Context
	reader io.Reader
	total  int64 // length of the input in bytes, 0 when not known
	bound  trace.Bound
	room   int64 // bytes that the bound now allows the contents
	buf    *memory
	first  int   // the oldest byte that the window still has
	pos    int   // next byte to read
	end    int   // end of the bytes read
	low    int   // at pos ≥ low the window must be filled
	base   int64 // offset in the input of buf[0]
	ended  bool
	err    error      // the error that ended the input, nil for its end
	ahead  chan fresh // what is read meanwhile, unless the input has ended; nil at first
}

// fresh is what was read at once, from longestLine on.
type fresh struct {
	buf   *memory
	end   int
	ended bool
	err   error
}

func newWindow(ctx context.Context, r io.Reader, o Options) *window {
	bound := o.Bound
	if bound == (trace.Bound{}) {
		bound = trace.DefaultBound
	}
	return &window{ctx: ctx, reader: r, total: o.Total, buf: memories.Get().(*memory), bound: bound, room: bound.Room(0)}
}

// tooMuch returns the error for contents that need more memory than the bytes
// read so far allow.
func (w *window) tooMuch() error {
	return &CorruptError{Offset: w.offset(), Reason: w.bound.Refusal(w.came()), Memory: true}
}

// came returns how many bytes of the input have come into the window so far.
func (w *window) came() int64 { return w.base + int64(w.end) }

// release gives the window's memory back, once nothing is read into it. The window
// must not be used after it.
func (w *window) release() {
	if w.ahead != nil && !w.ended {
		memories.Put((<-w.ahead).buf)
	}
	memories.Put(w.buf)
	w.buf = nil
}

// offset returns the input offset of the next byte.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// remaining returns how many bytes may still come, for checking the lengths
// that a file declares: an upper bound, exact when the total is known.
func (w *window) remaining() int64 {
	switch {
	case w.ended:
		return int64(w.end - w.pos)
	case w.total > 0:
		return max(w.total-w.offset(), int64(w.end-w.pos))
	default:
		return math.MaxInt64
	}
}

// fill goes on with what was read meanwhile, behind what is left unread, and begins
// to read what comes next: another core may read, or unpack, while this one decodes.
func (w *window) fill() {
	if w.ended {
		return
	}
	f := w.next()
	w.first = longestLine - (w.end - w.pos)
	copy(f.buf[w.first:], w.buf[w.pos:w.end])
	w.base += int64(w.pos - w.first)
	w.pos, w.end, w.ended, w.err = w.first, f.end, f.ended, f.err
	free := w.buf
	if w.buf = f.buf; w.ended {
		memories.Put(free)
	} else {
		go func() { w.ahead <- w.read(free) }()
	}
	w.room = w.bound.Room(w.came())
	if w.low = w.end - lookahead; w.ended {
		w.low = w.end
	}
}

// next returns what comes next, which only the first call has to read.
func (w *window) next() fresh {
	if w.ahead != nil {
		return <-w.ahead
	}
	w.ahead = make(chan fresh, 1)
	return w.read(memories.Get().(*memory))
}

// read reads on into memory until it is full or the input ends.
func (w *window) read(buf *memory) fresh {
	f := fresh{buf: buf, end: longestLine}
	for f.end < len(buf) && !f.ended {
		n, err := w.reader.Read(buf[f.end:])
		f.end += n
		if err == nil {
			err = w.ctx.Err()
		}
		if f.ended = err != nil; f.ended && !errors.Is(err, io.EOF) {
			f.err = err
		}
	}
	return f
}

// have makes n ≤ lookahead bytes readable at pos and reports whether the input
// has them.
func (w *window) have(n int) bool {
	if w.end-w.pos < n && !w.ended {
		w.fill()
	}
	return w.end-w.pos >= n
}

// take returns the next n bytes, valid until the next call. Long ones are
// gathered in a buffer that grows only as bytes arrive.
func (w *window) take(n int64) ([]byte, bool) {
	if n > w.remaining() {
		return nil, false
	}
	if n <= lookahead {
		if !w.have(int(n)) {
			return nil, false
		}
		b := w.buf[w.pos : w.pos+int(n)]
		w.pos += int(n)
		return b, true
	}
	return w.gather(n)
}

func (w *window) gather(n int64) ([]byte, bool) {
	var b []byte
	for int64(len(b)) < n {
		if !w.have(1) {
			return nil, false
		}
		piece := w.buf[w.pos:min(int64(w.end), int64(w.pos)+n-int64(len(b)))]
		b = append(b, piece...)
		w.pos += len(piece)
	}
	return b, true
}

// skip skips n bytes.
func (w *window) skip(n int64) bool {
	if n > w.remaining() {
		return false
	}
	for n > 0 {
		if !w.have(1) {
			return false
		}
		step := min(n, int64(w.end-w.pos))
		w.pos += int(step)
		n -= step
	}
	return true
}

// line returns the bytes up to the next newline, without it. It fails when the
// input ends before, or when the line is longer than longestLine.
func (w *window) line() ([]byte, bool) {
	for n := range longestLine {
		if !w.have(n + 1) {
			return nil, false
		}
		if w.buf[w.pos+n] == '\n' {
			b := w.buf[w.pos : w.pos+n]
			w.pos += n + 1
			return b, true
		}
	}
	return nil, false
}
