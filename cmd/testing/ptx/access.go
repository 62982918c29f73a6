package ptx

import (
	"strconv"
	"strings"
)

// space is a kind of memory.
type space uint8

const (
	general space = iota // an address of any of the others
	global
	shared
	local
	param
	constants
)

var spaces = map[string]space{"global": global, "shared": shared, "local": local, "param": param, "const": constants}

// windows are where general addresses of a space begin. The high bits of an address tell
// the spaces apart; global memory is that of this process.
var windows = map[space]uint64{shared: 1 << 60, local: 2 << 60}

// access is how an instruction uses memory.
type access struct {
	space   space
	bytes   uint64 // of all that a thread reads or writes
	writes  bool
	strong  bool // ordered with other such ones of the same place: atomic, acquiring, releasing
	acquire bool
	release bool
}

// spacing reads the parts of a load's or a store's name. It returns the type and how many
// numbers of it.
func (l *linker) spacing(s *statement, in *instruction) (kind string, count int) {
	count = 1
	for part := range strings.SplitSeq(s.opcode, ".") {
		switch {
		case spaces[part] != general:
			in.access.space = spaces[part]
		case part == "v2" || part == "v4":
			count = int(part[1] - '0')
		case part == "acquire":
			in.access.acquire, in.access.strong = true, true
		case part == "release":
			in.access.release, in.access.strong = true, true
		}
		kind = part
	}
	return kind, count
}

// address reads "[base+offset]". It returns the name of a parameter of a call, which has
// no address.
func (l *linker) address(s *statement, in *instruction, o string) (slot string) {
	base, offset, more := strings.Cut(strings.Trim(o, "[]"), "+")
	if more {
		in.offset = l.integer(s, offset)
	}
	if address, ok := l.addresses[base]; ok {
		in.offset += address
		in.a, in.long = l.value(0), true
		return ""
	}
	if !strings.HasPrefix(base, "%") {
		return base
	}
	in.a, in.long = l.register(base), strings.HasPrefix(base, "%rd") || strings.HasPrefix(base, "%SP")
	return ""
}

// data reads the registers that are loaded or stored.
func (l *linker) data(s *statement, in *instruction, o string, count int) {
	names := []string{o}
	if strings.HasPrefix(o, "{") {
		names = inside(o)
	}
	if len(names) != count {
		l.fail(s, "%d registers for %d numbers", len(names), count)
	}
	for _, name := range names {
		in.list = append(in.list, l.operand(s, name))
	}
}

func (l *linker) load(s *statement, in *instruction) {
	kind, count := l.spacing(s, in)
	step, bytes := loads[kind], bytesOf(kind)
	in.access.bytes = bytes * uint64(count)
	if slot := l.address(s, in, s.operands[1]); slot != "" {
		step, in.a = parameterLoads[bytes], l.slot(l.function, slot)
	}
	l.data(s, in, s.operands[0], count)
	if in.step = step; step == nil {
		l.fail(s, "this type is not known")
	}
}

func (l *linker) store(s *statement, in *instruction) {
	kind, count := l.spacing(s, in)
	bytes := bytesOf(kind)
	step := stores[bytes]
	in.access.bytes, in.access.writes = bytes*uint64(count), true
	if slot := l.address(s, in, s.operands[0]); slot != "" {
		step, in.a = parameterStores[bytes], l.slot(l.function, slot)
	}
	l.data(s, in, s.operands[1], count)
	if in.step = step; step == nil {
		l.fail(s, "this type is not known")
	}
}

// atomic builds an operation that reads and writes at once.
func (l *linker) atomic(s *statement, in *instruction) {
	l.address(s, in, s.operands[1])
	in.access = access{space: global, bytes: 4, writes: true, strong: true}
	in.d, in.b = l.register(s.operands[0]), l.operand(s, s.operands[2])
	switch s.opcode {
	case "atom.global.add.u32":
		in.step = atomicAdd
	case "atom.global.cas.b32":
		in.step, in.c = atomicSwap, l.operand(s, s.operands[3])
	default:
		l.fail(s, "this instruction is not known")
	}
}

// bytesOf returns the size of a type, such as u32.
func bytesOf(kind string) uint64 {
	bits, _ := strconv.Atoi(kind[1:]) // the type is known, or reported
	return uint64(bits) / 8
}
