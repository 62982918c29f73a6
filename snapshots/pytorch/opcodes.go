package pytorch

import (
	"encoding/binary"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// run executes opcodes up to and including STOP. The cases are in order of
// their frequency; the rest is in other.
func (m *machine) run() error {
	for {
		if m.pos >= m.low {
			m.fill()
			if m.pos >= m.end {
				return m.inputEnded()
			}
		}
		op := m.buf[m.pos]
		m.pos++
		var err error
		switch op {
		case pickle.BinGet:
			if m.pos >= m.end {
				return m.inputEnded()
			}
			m.pos++
			err = m.recall(uint32(m.buf[m.pos-1]))
		case pickle.LongBinGet:
			if m.pos+4 > m.end {
				return m.inputEnded()
			}
			m.pos += 4
			err = m.recall(binary.LittleEndian.Uint32(m.buf[m.pos-4:]))
		case pickle.Memoize:
			err = m.memoizeNext()
		case pickle.BinInt1:
			if m.pos >= m.end {
				return m.inputEnded()
			}
			m.pos++
			err = m.push(intValue(int64(m.buf[m.pos-1])))
		case pickle.EmptyDict:
			if m.shaped() {
				continue
			}
			m.dictStart = m.offset()
			err = m.push(value{tag: tagDict})
		case pickle.EmptyList:
			err = m.emptyList()
		case pickle.Mark:
			err = m.mark()
		case pickle.SetItems:
			err = m.setItems()
		case pickle.Appends:
			err = m.appends()
		case pickle.Stop:
			return nil
		default:
			err = m.scalar(op)
		}
		if err != nil {
			return err
		}
	}
}

// inputEnded returns the error that ended the input before its STOP.
func (m *machine) inputEnded() error {
	if m.err != nil {
		return m.err
	}
	return errTruncated
}

// operand returns the next n ≤ lookahead bytes, or nil at the input's end.
func (m *machine) operand(n int) []byte {
	if m.pos+n > m.end && !m.have(n) {
		return nil
	}
	m.pos += n
	return m.buf[m.pos-n : m.pos]
}

// scalar executes the opcodes of numbers and strings.
func (m *machine) scalar(op byte) error {
	switch op {
	case pickle.BinInt, pickle.BinInt2, pickle.Long1, pickle.BinFloat, pickle.Frame, pickle.Proto:
		return m.fixed(op)
	case pickle.ShortBinUni, pickle.ShortBinString, pickle.ShortBinBytes:
		return m.counted(op, 1)
	case pickle.BinUnicode, pickle.BinString, pickle.BinBytes:
		return m.counted(op, 4)
	case pickle.BinUnicode8, pickle.BinBytes8, pickle.ByteArray8:
		return m.counted(op, 8)
	case pickle.NewFalse, pickle.NewTrue:
		return m.push(value{tag: tagBool, n: uint64(pickle.NewFalse-op) & 1})
	case pickle.None:
		return m.push(value{})
	case pickle.Tuple2:
		return m.tuple(2)
	default:
		return m.other(op)
	}
}

// fixed executes the opcodes whose operand has a fixed or a one-byte length.
func (m *machine) fixed(op byte) error {
	switch op {
	case pickle.BinInt:
		if b := m.operand(4); b != nil {
			return m.push(intValue(int64(int32(binary.LittleEndian.Uint32(b)))))
		}
	case pickle.BinInt2:
		if b := m.operand(2); b != nil {
			return m.push(intValue(int64(binary.LittleEndian.Uint16(b))))
		}
	case pickle.Long1:
		if n := m.operand(1); n != nil {
			if b := m.operand(int(n[0])); b != nil {
				return m.push(longValue(b))
			}
		}
	case pickle.BinFloat:
		if b := m.operand(8); b != nil {
			return m.push(value{tag: tagFloat, n: binary.BigEndian.Uint64(b)})
		}
	case pickle.Frame:
		if b := m.operand(8); b != nil {
			return nil // the length is only for buffering, and may be wrong
		}
	case pickle.Proto:
		if b := m.operand(1); b != nil {
			return m.proto(int(b[0]))
		}
	}
	return m.inputEnded()
}

func (m *machine) proto(version int) error {
	if version > 5 {
		return m.corrupt("pickle protocol %d is not known; 0 to 5 are", version)
	}
	m.protocol = version
	return nil
}

// longValue reads a little-endian two's complement integer of any length. No
// field has one beyond 64 bits.
func longValue(b []byte) value {
	for len(b) > 8 && (b[len(b)-1] == 0 && b[len(b)-2] < 0x80 || b[len(b)-1] == 0xFF && b[len(b)-2] >= 0x80) {
		b = b[:len(b)-1] // only the sign
	}
	if len(b) > 9 || len(b) == 9 && b[8] != 0 {
		return value{tag: tagOpaque}
	}
	var n uint64
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	if len(b) == 9 {
		return value{tag: tagUint, n: n}
	}
	unused := 64 - 8*len(b)
	return intValue(int64(n<<unused) >> unused)
}

// textCopies is how many copies of a long text are in memory while it is
// gathered from pieces, in lists that are moved as they grow.
const textCopies = 4

// counted executes the opcodes of text and bytes, which begin with their length
// in width bytes.
func (m *machine) counted(op byte, width int) error {
	b := m.operand(width)
	if b == nil {
		return m.inputEnded()
	}
	var n uint64
	for i := width - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	if n > uint64(m.remaining()) {
		if n > 1<<31 || m.total > 0 {
			return m.tooLong(n)
		}
		return m.inputEnded()
	}
	if op == pickle.ShortBinBytes || op == pickle.BinBytes || op == pickle.BinBytes8 || op == pickle.ByteArray8 {
		if !m.skip(int64(n)) {
			return m.inputEnded()
		}
		return m.push(value{tag: tagOpaque})
	}
	if int64(n) > m.free()/textCopies { // a product could overflow
		return m.tooMuch()
	}
	text, ok := m.take(int64(n))
	if !ok {
		return m.inputEnded()
	}
	return m.text(text)
}

// tooLong refuses a declared length beyond the input. A short one means that the
// input was cut off within the string.
func (m *machine) tooLong(n uint64) error {
	const plausible = 1 << 16
	if n < plausible {
		return m.inputEnded()
	}
	return m.corrupt("a text declares %d bytes where at most %d remain", n, m.remaining())
}

// tuple makes the n values on top of the stack a tuple.
func (m *machine) tuple(n int) error {
	if err := m.need(n); err != nil {
		return err
	}
	at := len(m.stack) - n
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return m.tupleOf(items)
}

// tupleOf pushes a tuple. A pair of integers is a pool; no other tuple means
// anything in a snapshot.
func (m *machine) tupleOf(items []value) error {
	if len(items) == 0 {
		return m.push(value{tag: tagTuple})
	}
	if top := len(m.stack) - 1; top >= m.floor() && m.stack[top].tag == tagTyper && m.have(1) && m.buf[m.pos] == pickle.Reduce {
		// restore_type_tag, around every list and dict: no tuple is made
		m.pos++
		m.stack[len(m.stack)-1] = items[0]
		return nil
	}
	if len(items) == 2 {
		a, aok := items[0].integer()
		b, bok := items[1].integer()
		if aok && bok {
			pool := m.in.Pool(trace.Pool{a, b})
			if err := m.charge(0); err != nil {
				return err
			}
			return m.push(value{tag: tagPool, id: uint32(pool)})
		}
	}
	id, err := m.newList()
	if err != nil {
		return err
	}
	if err := m.add(m.lists.at(id), items); err != nil {
		return err
	}
	return m.push(value{tag: tagTuple, id: id})
}
