package pytorch

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/memtop/memtop/snapshots/pickle"
)

// other executes the opcodes that only old protocols and unusual writers use,
// and refuses those that name or build an object.
func (m *machine) other(op byte) error {
	switch op {
	case pickle.Append:
		return m.appendOne()
	case pickle.SetItem:
		return m.setItem()
	case pickle.Tuple1:
		return m.tuple(1)
	case pickle.Tuple3:
		return m.tuple(3)
	case pickle.EmptyTuple:
		return m.tupleOf(nil)
	case pickle.Tuple, pickle.List, pickle.Dict:
		return m.fromMark(op)
	case pickle.BinPut, pickle.LongBinPut, pickle.Put, pickle.Get:
		return m.memoOp(op)
	case pickle.Int, pickle.Long, pickle.Float, pickle.String, pickle.Unicode:
		return m.lineOp(op)
	case pickle.Long4:
		return m.long4()
	case pickle.Pop, pickle.PopMark, pickle.Dup:
		return m.stackOp(op)
	case pickle.Global:
		return m.global()
	case pickle.Reduce:
		return m.reduce()
	default:
		return m.refuse(op)
	}
}

// fromMark makes the values above the mark a container.
func (m *machine) fromMark(op byte) error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	if op == pickle.Tuple {
		return m.tupleOf(items)
	}
	copied := int64(len(items)) * valueBytes
	if err := m.charge(copied); err != nil {
		return err
	}
	defer func() { m.used -= copied }()
	held := slices.Clone(items) // the next push reuses their memory
	at := len(m.stack)
	if op == pickle.List {
		err = m.push(value{tag: tagList})
	} else {
		err = m.push(value{tag: tagDict})
	}
	if err != nil || len(held) == 0 {
		return err
	}
	if op == pickle.List {
		return m.extend(&m.stack[at], held)
	}
	if len(held)%2 != 0 {
		return m.corrupt("a dict's key has no value")
	}
	return m.put(&m.stack[at], held)
}

// memoOp executes the memo's opcodes that carry an index.
func (m *machine) memoOp(op byte) error {
	at, err := m.memoIndex(op)
	if err != nil {
		return err
	}
	if op == pickle.Get {
		return m.recall(at)
	}
	return m.memoize(at)
}

func (m *machine) memoIndex(op byte) (uint32, error) {
	switch op {
	case pickle.BinPut:
		if b := m.operand(1); b != nil {
			return uint32(b[0]), nil
		}
	case pickle.LongBinPut:
		if b := m.operand(4); b != nil {
			return binary.LittleEndian.Uint32(b), nil
		}
	default:
		line, err := m.textLine()
		if err != nil {
			return 0, err
		}
		at, err := strconv.ParseUint(string(line), 10, 32)
		if err != nil {
			return 0, m.corrupt("a memo index is not a number")
		}
		return uint32(at), nil
	}
	return 0, m.inputEnded()
}

// textLine returns the operand of a protocol 0 opcode.
func (m *machine) textLine() ([]byte, error) {
	line, ok := m.line()
	if ok {
		return line, nil
	}
	if !m.ended {
		return nil, m.corrupt("a line of text is longer than %d bytes", longestLine)
	}
	return nil, m.inputEnded()
}

// lineOp executes the opcodes of protocol 0, whose operand is a line of text.
func (m *machine) lineOp(op byte) error {
	line, err := m.textLine()
	if err != nil {
		return err
	}
	switch op {
	case pickle.Int, pickle.Long:
		return m.decimal(string(bytes.TrimSuffix(line, []byte("L"))))
	case pickle.Float:
		f, err := strconv.ParseFloat(string(line), 64)
		if err != nil {
			return m.corrupt("the operand of FLOAT is not a number")
		}
		return m.push(value{tag: tagFloat, n: math.Float64bits(f)})
	case pickle.String:
		return m.quoted(line)
	default:
		return m.text(unescape(line))
	}
}

func (m *machine) decimal(s string) error {
	switch s {
	case "00":
		return m.push(value{tag: tagBool})
	case "01":
		return m.push(value{tag: tagBool, n: 1})
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return m.push(intValue(n))
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return m.push(value{tag: tagUint, n: n})
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return m.corrupt("the operand of INT or LONG is not an integer")
		}
	}
	return m.push(value{tag: tagOpaque})
}

// quoted pushes a protocol 0 string of Python 2: a literal in quotes.
func (m *machine) quoted(line []byte) error {
	n := len(line)
	if n < 2 || line[0] != line[n-1] || line[0] != '\'' && line[0] != '"' {
		return m.corrupt("a string has no quotes")
	}
	text := string(line[1 : n-1])
	if s, err := strconv.Unquote(`"` + string(bytes.ReplaceAll([]byte(text), []byte(`"`), []byte(`\"`))) + `"`); err == nil {
		text = s
	}
	return m.text([]byte(text))
}

// unescape reads Python's raw-unicode-escape: \uXXXX and \UXXXXXXXX are code
// points, every other byte is a Latin-1 character.
func unescape(line []byte) []byte {
	var out []byte
	for i := 0; i < len(line); {
		if width := escapeWidth(line[i:]); width > 0 {
			if r, err := strconv.ParseUint(string(line[i+2:i+2+width]), 16, 32); err == nil {
				out = utf8.AppendRune(out, rune(r))
				i += 2 + width
				continue
			}
		}
		out = utf8.AppendRune(out, rune(line[i]))
		i++
	}
	return out
}

func escapeWidth(b []byte) int {
	switch {
	case len(b) >= 6 && b[0] == '\\' && b[1] == 'u':
		return 4
	case len(b) >= 10 && b[0] == '\\' && b[1] == 'U':
		return 8
	default:
		return 0
	}
}

// long4 reads an integer whose length takes four bytes; no snapshot needs it,
// but a pickler may use it.
func (m *machine) long4() error {
	b := m.operand(4)
	if b == nil {
		return m.inputEnded()
	}
	n := int32(binary.LittleEndian.Uint32(b))
	if n < 0 || int64(n) > m.remaining() {
		return m.corrupt("an integer declares %d bytes where at most %d remain", n, m.remaining())
	}
	if n > lookahead {
		if !m.skip(int64(n)) {
			return m.inputEnded()
		}
		return m.push(value{tag: tagOpaque})
	}
	if b = m.operand(int(n)); b == nil {
		return m.inputEnded()
	}
	return m.push(longValue(b))
}

func (m *machine) stackOp(op byte) error {
	if op == pickle.PopMark {
		_, err := m.popMark()
		return err
	}
	if op == pickle.Pop && len(m.marks) > 0 && m.floor() == len(m.stack) {
		_, err := m.popMark() // as in Python: a mark with nothing above it is popped
		return err
	}
	if err := m.need(1); err != nil {
		return err
	}
	top := m.stack[len(m.stack)-1]
	if op == pickle.Pop {
		m.stack = m.stack[:len(m.stack)-1]
		return nil
	}
	if top.unbound() && top.n == 0 {
		return m.corrupt("an empty container is duplicated")
	}
	return m.push(top)
}

// global accepts one name, restore_type_tag, in which torch_npu's pickler wraps
// lists and dicts: a function that returns its first argument. It is recognised,
// not called. Every other name is refused.
func (m *machine) global() error {
	line, err := m.textLine()
	if err != nil {
		return err
	}
	module := bytes.Clone(line)
	function, err := m.textLine()
	if err != nil {
		return err
	}
	if string(module) == "torch.jit._pickle" && string(function) == "restore_type_tag" {
		return m.push(value{tag: tagTyper})
	}
	const longest = 60
	return m.corrupt("the file refers to the Python object %.*q, which pickle would import; a snapshot refers to none", longest, string(module)+"."+string(function))
}

// reduce applies restore_type_tag, and no other function.
func (m *machine) reduce() error {
	if err := m.need(2); err != nil {
		return err
	}
	top := len(m.stack) - 1
	function, arguments := m.stack[top-1], m.stack[top]
	if function.tag != tagTyper || arguments.tag != tagTuple || m.lists.at(arguments.id).len() == 0 {
		return m.refuse(pickle.Reduce)
	}
	m.stack = m.stack[:top-1]
	return m.push(m.lists.at(arguments.id).at(0))
}

var refused = map[byte]string{
	pickle.Reduce: "REDUCE", pickle.Build: "BUILD", pickle.Inst: "INST", pickle.Obj: "OBJ", pickle.NewObj: "NEWOBJ",
	pickle.NewObjEx: "NEWOBJ_EX", pickle.StackGlobal: "STACK_GLOBAL", pickle.Ext1: "EXT1", pickle.Ext2: "EXT2",
	pickle.Ext4: "EXT4", pickle.PersID: "PERSID", pickle.BinPersID: "BINPERSID", pickle.NextBuffer: "NEXT_BUFFER",
	pickle.ReadOnlyBuffer: "READONLY_BUFFER", pickle.EmptySet: "EMPTY_SET", pickle.AddItems: "ADDITEMS",
	pickle.FrozenSet: "FROZENSET",
}

func (m *machine) refuse(op byte) error {
	m.pos-- // name the opcode's own place
	if name, ok := refused[op]; ok {
		return m.corrupt("the opcode %s builds Python objects, which a snapshot never needs; it was not executed", name)
	}
	return m.corrupt("byte 0x%02x is not a pickle opcode", op)
}
