package reopen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// # The form of an entry
//
// Sections follow each other, each an array of one kind of number or record as it lies
// in memory, from a multiple of 64 bytes on. After the last come the checksums of all
// sections, one for every piece of them, where each section lies, and a foot of fixed
// size that says where that is. So an entry is written from begin to end and read from
// its end. Sections have no names: writer and reader go through them in one order, and
// what the order is belongs to the build that an entry is of.

const (
	alignment = 64
	// pieceBytes is what has a checksum of its own: 16,384 events.
	pieceBytes = 16384 * 40
	magic      = "memtop index 1\n\x00"
	// mostSections keeps the table of an entry small, whatever it says.
	mostSections = 1 << 16
	headBytes    = 1 << 16 // room for everything that is in front of the arrays
)

// flat is what may lie in a section: no pointer, no bool, and the same size everywhere.
type span struct{ From, Bytes int64 }

// foot is the end of an entry.
type foot struct {
	Sections int64
	Table    int64  // where the spans begin; the sums follow them
	Sums     int64  // how many there are
	Sum      uint64 // of the spans and the sums
	Magic    [16]byte
}

const footBytes = int64(unsafe.Sizeof(foot{}))

// writer writes an entry.
type writer struct {
	to    io.Writer
	at    int64
	spans []span
	sums  []uint64
	err   error
}

func (w *writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.to.Write(b)
	w.at += int64(n)
	w.err = err
}

func (w *writer) align() {
	if rest := w.at % alignment; rest > 0 {
		w.write(make([]byte, alignment-rest))
	}
}

// section writes one of several arrays, which are as one.
func section[T any](w *writer, parts ...[]T) {
	w.align()
	s := span{From: w.at}
	var piece []byte // what the next sum is of, where a piece is of several parts
	for _, part := range parts {
		b := bytesOf(part)
		s.Bytes += int64(len(b))
		for len(b) > 0 && w.err == nil {
			if len(piece) == 0 && len(b) >= pieceBytes {
				w.piece(b[:pieceBytes])
				b = b[pieceBytes:]
				continue
			}
			n := min(len(b), pieceBytes-len(piece))
			piece = append(piece, b[:n]...)
			b = b[n:]
			if len(piece) == pieceBytes {
				w.piece(piece)
				piece = piece[:0]
			}
		}
	}
	if len(piece) > 0 {
		w.piece(piece)
	}
	w.spans = append(w.spans, s)
}

func (w *writer) piece(b []byte) {
	w.sums = append(w.sums, sum(b))
	w.write(b)
}

// end writes what comes after the sections.
func (w *writer) end() error {
	w.align()
	f := foot{Sections: int64(len(w.spans)), Table: w.at, Sums: int64(len(w.sums))}
	copy(f.Magic[:], magic)
	table := append(bytes.Clone(bytesOf(w.spans)), bytesOf(w.sums)...)
	f.Sum = sum(table)
	w.write(table)
	w.write(bytesOf([]foot{f}))
	return w.err
}

// bytesOf returns the memory of an array of flat values.
func bytesOf[T any](of []T) []byte {
	if len(of) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(of))), len(of)*int(unsafe.Sizeof(of[0])))
}

// Damage says why an entry is not used.
var errDamaged = errors.New("the entry is damaged")

func damaged(format string, values ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, values...))
}

// reader reads the sections of an entry, which lies in memory.
type reader struct {
	all   []byte
	spans []span
	sums  []uint64
	first []int // by section, the number of its first sum
	at    int   // the next section
	err   error
}

// newReader reads what comes after the sections. The sums of the sections themselves are
// compared by check.
func newReader(all []byte) (*reader, error) {
	r := &reader{all: all}
	if int64(len(all)) < footBytes || len(all)%8 != 0 {
		return nil, damaged("%d bytes", len(all))
	}
	end := int64(len(all)) - footBytes
	f := viewOf[foot](all[end:])[0]
	if string(f.Magic[:]) != magic {
		return nil, damaged("it does not end as one")
	}
	spanBytes := int64(unsafe.Sizeof(span{}))
	if f.Sections < 0 || f.Sections > mostSections || f.Table < 0 || f.Table > end || f.Table%alignment != 0 ||
		f.Sums < 0 || f.Sums > end/8 || f.Table+f.Sections*spanBytes+f.Sums*8 != end {
		return nil, damaged("it has no table of sections")
	}
	table := all[f.Table:end]
	if sum(table) != f.Sum {
		return nil, damaged("its table of sections")
	}
	r.spans = viewOf[span](table[:f.Sections*spanBytes])
	r.sums = viewOf[uint64](table[f.Sections*spanBytes:])
	var sums, at int64
	for _, s := range r.spans {
		if s.From < at || s.From%alignment != 0 || s.Bytes < 0 || s.Bytes > f.Table-s.From {
			return nil, damaged("a section lies outside of it")
		}
		at = s.From + s.Bytes
		r.first = append(r.first, int(sums))
		sums += pieces(s.Bytes)
	}
	if sums != f.Sums {
		return nil, damaged("it has %d checksums for %d pieces", f.Sums, sums)
	}
	return r, nil
}

func pieces(bytes int64) int64 { return (bytes + pieceBytes - 1) / pieceBytes }

// checkPiece compares the checksum of a piece of a section.
func (r *reader) checkPiece(section, piece int) error {
	s := r.spans[section]
	b := r.all[s.From : s.From+s.Bytes][piece*pieceBytes:]
	if sum(b[:min(pieceBytes, len(b))]) != r.sums[r.first[section]+piece] {
		return damaged("section %d, piece %d", section, piece)
	}
	return nil
}

// next returns the next section as an array, where it lies. Until it is checked it may
// hold any numbers.
func next[T any](r *reader) []T {
	if r.err != nil {
		return nil
	}
	if r.at == len(r.spans) {
		r.err = damaged("it has only %d sections", r.at)
		return nil
	}
	s := r.spans[r.at]
	r.at++
	var of T
	if s.Bytes%int64(unsafe.Sizeof(of)) != 0 {
		r.err = damaged("section %d has %d bytes", r.at-1, s.Bytes)
		return nil
	}
	return viewOf[T](r.all[s.From : s.From+s.Bytes])
}

// one returns the next section, which is to be one value.
func one[T any](r *reader) T {
	var value T
	all := next[T](r)
	if r.err == nil && len(all) != 1 {
		r.err = damaged("section %d has %d values", r.at-1, len(all))
	}
	if r.err == nil {
		value = all[0]
	}
	return value
}

// viewOf returns memory as an array of flat values. It begins at a multiple of eight.
func viewOf[T any](b []byte) []T {
	var of T
	n := len(b) / int(unsafe.Sizeof(of))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// # Small things
//
// What is no array of numbers lies in one section of bytes: texts, settings, and what
// the file says of itself.

// packer packs small things.
type packer struct{ b []byte }

func (p *packer) number(v int64) { p.b = binary.AppendVarint(p.b, v) }

func (p *packer) text(s string) {
	p.number(int64(len(s)))
	p.b = append(p.b, s...)
}

func (p *packer) flag(v bool) {
	if v {
		p.number(1)
	} else {
		p.number(0)
	}
}

// unpacker is the way back.
type unpacker struct {
	b   []byte
	bad bool
}

func (u *unpacker) number() int64 {
	v, n := binary.Varint(u.b)
	if n <= 0 {
		u.bad, u.b = true, nil
		return 0
	}
	u.b = u.b[n:]
	return v
}

// count is a number of things that take a byte each at least.
func (u *unpacker) count() int {
	n := u.number()
	if n < 0 || n > int64(len(u.b)) {
		u.bad = true
		return 0
	}
	return int(n)
}

func (u *unpacker) text() string {
	n := u.count()
	s := string(u.b[:n])
	u.b = u.b[n:]
	return s
}

func (u *unpacker) flag() bool { return u.number() != 0 }
