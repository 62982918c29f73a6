package mutate

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// argument is what follows an opcode.
type argument int

const (
	line     argument = -1
	twoLines argument = -2
	counted  argument = -16 // and less: a length of 1, 4 or 8 bytes, and as many bytes
)

// arguments are those of all opcodes that have one. Positive ones are so many
// bytes.
var arguments = map[byte]argument{
	'F': line, 'I': line, 'L': line, 'P': line, 'S': line, 'V': line, 'g': line, 'p': line, 'c': twoLines, 'i': twoLines,
	'J': 4, 'K': 1, 'M': 2, 'h': 1, 'j': 4, 'q': 1, 'r': 4, 'G': 8, 0x80: 1, 0x82: 1, 0x83: 2, 0x84: 4, 0x95: 8,
	'U': counted - 1, 'C': counted - 1, 0x8a: counted - 1, 0x8c: counted - 1,
	'T': counted - 4, 'B': counted - 4, 'X': counted - 4, 0x8b: counted - 4, 0x8d: counted - 8, 0x8e: counted - 8, 0x96: counted - 8,
}

// plainOpcodes have no argument.
var plainOpcodes = []byte("(.012NQRabdelostu])}\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98")

// insertions are what is put between opcodes.
var insertions = []string{
	"(", ")", "]", "}", "N", "0", "1", "2", "t", "l", "d", "e", "u", "a", "s", ".", "R", "b", "o", "\x81", "\x85", "\x86", "\x87", "\x8f", "\x90", "\x94",
	"h\x00", "h\xff", "j\x00\x00\x00\x00", "j\xff\xff\xff\xff", "r\xff\xff\xff\x7f", "q\x00", "g0\n", "p0\n", "K\x01", "J\xff\xff\xff\xff", "\x8a\x00", "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80",
	"cos\nsystem\n", "ctorch.jit._pickle\nrestore_type_tag\n", "\x8c\x02os\x8c\x06system\x93", "Vx\n", "X\x00\x00\x00\x00", "\x80\x02", "\x95\x00\x00\x00\x00\x00\x00\x00\x00", "\xff",
}

// operation is where an opcode and its argument stand.
type operation struct{ from, to int }

// operations returns those of a pickle, up to where it makes no sense.
func operations(pickle []byte) []operation {
	var all []operation
	for at := 0; at < len(pickle); {
		n := argumentLength(arguments[pickle[at]], pickle[at+1:])
		if n < 0 || n > len(pickle)-at-1 {
			break
		}
		all = append(all, operation{at, at + 1 + n})
		at += 1 + n
	}
	return all
}

// argumentLength returns how many of the bytes that follow an opcode are its
// own, -1 if they end before.
func argumentLength(kind argument, rest []byte) int {
	switch {
	case kind >= 0:
		return int(kind)
	case kind == line:
		return bytes.IndexByte(rest, '\n') + 1
	case kind == twoLines:
		first := bytes.IndexByte(rest, '\n') + 1
		return first + bytes.IndexByte(rest[first:], '\n') + 1
	}
	width := int(counted - kind)
	if len(rest) < width {
		return -1
	}
	n := binary.LittleEndian.Uint64(append(bytes.Clone(rest[:width]), make([]byte, 8)...))
	if n > uint64(len(rest)) {
		return -1
	}
	return width + int(n)
}

// damagePickle changes an opcode, or bytes whatever they mean.
func damagePickle(r *rand.Rand, pickle []byte) ([]byte, string) {
	all := operations(pickle)
	if len(all) == 0 || r.IntN(3) == 0 {
		return damageBytes(r, pickle)
	}
	op, next := choose(r, all), choose(r, all)
	before, own, after := pickle[:op.from], pickle[op.from:op.to], pickle[op.to:]
	switch r.IntN(7) {
	case 0:
		return slices.Concat(before, after), "drop an opcode"
	case 1:
		return slices.Concat(before, own, own, after), "double an opcode"
	case 2:
		return slices.Concat(before, bytes.Repeat([]byte(choose(r, insertions)), 1<<r.IntN(18)), after), "repeat an opcode"
	case 3:
		return slices.Concat(before, []byte(choose(r, insertions)), own, after), "insert an opcode"
	case 4:
		return slices.Concat(before, pickle[next.from:next.to], after), "copy an opcode over"
	case 5:
		return slices.Concat(before, likeOpcode(r, own), after), "replace an opcode"
	default:
		return slices.Concat(before, otherArgument(r, own), after), "change an argument"
	}
}

// likeOpcode returns the operation with another opcode that takes such an
// argument.
func likeOpcode(r *rand.Rand, own []byte) []byte {
	if arguments[own[0]] == 0 {
		return []byte{choose(r, plainOpcodes)}
	}
	for {
		if op := byte(r.Uint32()); arguments[op] == arguments[own[0]] {
			return append([]byte{op}, own[1:]...)
		}
	}
}

// otherArgument returns the operation with something else as its argument,
// or another length of it.
func otherArgument(r *rand.Rand, own []byte) []byte {
	own = bytes.Clone(own)
	switch kind := arguments[own[0]]; kind {
	case 0:
		return []byte{own[0], byte(r.Uint32())}
	case line, twoLines:
		return append([]byte{own[0]}, choose(r, []string{"\n", "-1\n", "x\n", "99999999999999999999\n", "1e999\n", "nan\n", "''\n", "'\\x1b'\n", "0x10\n", " 1 \n"})...)
	default:
		n := binary.LittleEndian.AppendUint64(nil, choose(r, lengths))
		copy(own[1:], n[:min(8, max(int(kind), int(counted-kind)))])
		return own
	}
}
