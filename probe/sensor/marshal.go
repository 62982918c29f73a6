package sensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// reader reads values of Python's marshal format, version 2, one after another. It
// keeps the first error, and returns zeros after it. The format is described in
// CPython's Python/marshal.c.
type reader struct {
	b   []byte
	err error
}

var errShort = errors.New("a message of the agent is cut short")

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail(errShort)
		return nil
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) kind() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (r *reader) word() uint32 {
	if part := r.take(4); part != nil {
		return binary.LittleEndian.Uint32(part)
	}
	return 0
}

// length reads a length. Each entry takes a byte at least.
func (r *reader) length() int {
	n := r.word()
	if uint64(n) > uint64(len(r.b)) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

// items reads the head of a list or a tuple, and returns its length.
func (r *reader) items() int {
	if k := r.kind(); k != '(' && k != '[' {
		r.fail(fmt.Errorf("a message of the agent has a value of type %q in place of a list", k))
		return 0
	}
	return r.length()
}

// number reads a whole number. One beyond 64 bits is the nearest that fits.
func (r *reader) number() int64 {
	switch k := r.kind(); k {
	case 'i':
		return int64(int32(r.word())) //nolint:gosec // its bits
	case 'l':
		return r.long()
	case 'T':
		return 1
	case 'F', 'N':
		return 0
	default:
		r.fail(fmt.Errorf("a message of the agent has a value of type %q in place of a number", k))
		return 0
	}
}

// long reads a number in digits of 15 bits, the lowest first.
func (r *reader) long() int64 {
	n := int(int32(r.word())) //nolint:gosec // its bits
	negative := n < 0
	if negative {
		n = -n
	}
	digits, value := r.take(2*n), uint64(0)
	for i := range len(digits) / 2 {
		digit := uint64(binary.LittleEndian.Uint16(digits[2*i:]) & 0x7fff)
		if i > 4 || i == 4 && digit > 0xf {
			return math.MaxInt64
		}
		value |= digit << (15 * i)
	}
	if negative {
		return -int64(min(value, math.MaxInt64)) //nolint:gosec // it fits
	}
	return int64(value) //nolint:gosec // an address may have its highest bit set
}

func (r *reader) truth() bool { return r.number() != 0 }

// unsigned reads a number that is not negative, such as that of a name.
func (r *reader) unsigned() uint64 { return uint64(r.number()) } //nolint:gosec // its bits

// numbers reads a list of such numbers.
func (r *reader) numbers() []uint64 {
	list := make([]uint64, r.items())
	for i := range list {
		list[i] = r.unsigned()
	}
	return list
}

// text reads a text. What Unicode cannot encode becomes a question mark.
func (r *reader) text() string {
	if k := r.kind(); k != 'u' && k != 't' {
		r.fail(fmt.Errorf("a message of the agent has a value of type %q in place of a text", k))
		return ""
	}
	return strings.ToValidUTF8(string(r.take(r.length())), "?")
}

// bytes reads bytes. They belong to the message.
func (r *reader) bytes() []byte {
	if k := r.kind(); k != 's' {
		r.fail(fmt.Errorf("a message of the agent has a value of type %q in place of bytes", k))
		return nil
	}
	return r.take(r.length())
}
