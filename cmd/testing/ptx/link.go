package ptx

import (
	"slices"
	"strconv"
	"strings"
)

// add reads a function and all that it calls, each behind the one before.
func (l *linker) add(f *function) {
	called := l.reachable(f)
	for _, g := range called {
		l.declare(g)
	}
	l.placeShared(called)
	for _, g := range called {
		l.program.starts[g] = int32(len(l.program.code))
		l.read(g)
	}
	for i := range l.program.code {
		if in := &l.program.code[i]; in.callee != nil {
			in.target, in.join = l.program.starts[in.callee], l.program.ends[in.callee]
		}
	}
}

// reachable returns a function and those that it calls, directly or not.
func (l *linker) reachable(f *function) []*function {
	all := []*function{f}
	for i := 0; i < len(all); i++ {
		for j := range all[i].body {
			s := &all[i].body[j]
			if !strings.HasPrefix(s.opcode, "call") {
				continue
			}
			g := l.module.functions[calleeOf(s)]
			switch {
			case g == nil:
				l.fail(s, "there is no function %s", calleeOf(s))
			case !slices.Contains(all, g):
				all = append(all, g)
			}
		}
	}
	return all
}

// calleeOf returns the name of the function in a call: behind the result, if it has one.
func calleeOf(s *statement) string {
	for _, o := range s.operands {
		if !strings.HasPrefix(o, "(") {
			return o
		}
	}
	return ""
}

// declare gives a function's variables their places. Each function has its own in local
// memory, because none calls itself.
func (l *linker) declare(f *function) {
	if f.local.bytes > 0 {
		l.addresses[f.local.name] = l.place(&l.program.local, f.local)
	}
}

// placeShared gives variables in shared memory their places, if a function names them.
// Those whose size the launch sets come last.
func (l *linker) placeShared(functions []*function) {
	var named strings.Builder
	declared := slices.Clone(l.module.shared)
	for _, f := range functions {
		declared = append(declared, f.shared...)
		for i := range f.body {
			named.WriteString(strings.Join(f.body[i].operands, " "))
		}
	}
	slices.SortStableFunc(declared, func(a, b variable) int { return int(truth(a.bytes == 0)) - int(truth(b.bytes == 0)) })
	l.program.shared = sharedFrom
	for _, v := range declared {
		if strings.Contains(named.String(), v.name) {
			l.addresses[v.name] = l.place(&l.program.shared, v)
		}
	}
}

// read makes the instructions of a function, and one more at which it ends.
func (l *linker) read(f *function) {
	p := l.program
	l.function, l.names = f, make(map[string]int32)
	first := len(p.code)
	for i := range f.body {
		s := &f.body[i]
		in := instruction{written: s, function: f, join: -1}
		l.decode(s, &in)
		p.code = append(p.code, in)
	}
	p.ends[f] = int32(len(p.code))
	p.code = append(p.code, instruction{function: f})
	for i := first; i < len(p.code); i++ {
		if in := &p.code[i]; in.branches {
			in.target += int32(first)
		}
	}
	meet(p.code[first:], int32(first))
}

// decode makes an instruction of a statement.
func (l *linker) decode(s *statement, in *instruction) {
	if build := l.builder(s.opcode); build != nil {
		build(l, s, in)
		return
	}
	operate, ok := operations[s.opcode]
	if !ok {
		l.fail(s, "this instruction is not known")
		return
	}
	in.lanes = operate
	if strings.HasPrefix(s.operands[0], "{") {
		l.unpack(s, in)
		return
	}
	registers := [4]*int32{&in.d, &in.a, &in.b, &in.c}
	for i, o := range s.operands {
		*registers[i] = l.operand(s, o)
		if i > 0 && strings.HasSuffix(s.opcode, ".pred") && !strings.HasPrefix(o, "%") {
			*registers[i] = l.value(truth(o != "0"))
		}
	}
}

// operand returns the register of an operand. Constants and addresses have registers, too.
func (l *linker) operand(s *statement, o string) int32 {
	switch {
	case strings.HasPrefix(o, "0f"), strings.HasPrefix(o, "0d"):
		bits, err := strconv.ParseUint(o[2:], 16, 64)
		if err != nil {
			l.fail(s, "%w", err)
		}
		return l.value(bits)
	case o[0] == '-' || o[0] >= '0' && o[0] <= '9':
		return l.value(l.integer(s, o))
	}
	if address, ok := l.addresses[o]; ok {
		return l.value(address)
	}
	if strings.HasPrefix(o, "%") && strings.Contains(o, ".") {
		return l.specialRegister(o)
	}
	return l.register(o)
}

// integer reads a constant.
func (l *linker) integer(s *statement, o string) uint64 {
	if n, err := strconv.ParseInt(o, 0, 64); err == nil {
		return uint64(n)
	}
	n, err := strconv.ParseUint(o, 0, 64)
	if err != nil {
		l.fail(s, "%w", err)
	}
	return n
}

// specialRegister returns a register whose content the launch sets.
func (l *linker) specialRegister(name string) int32 {
	r, ok := l.specials[name]
	if !ok {
		r = l.fresh(1)
		l.specials[name] = r
		l.program.specials = append(l.program.specials, special{r, name})
	}
	return r
}

// unpack is "mov.b32 {low, high}, x": the second of the two parts is the one that is
// ever read.
func (l *linker) unpack(s *statement, in *instruction) {
	bits := map[string]uint64{"mov.b32": 16, "mov.b64": 32}[s.opcode]
	parts := inside(s.operands[0])
	if bits == 0 || len(parts) != 2 || parts[0] != "tmp" {
		l.fail(s, "only the upper half is taken")
		return
	}
	in.lanes, in.d, in.a, in.b = right[uint64], l.register(parts[1]), l.operand(s, s.operands[1]), l.value(bits)
	if bits == 16 {
		in.lanes = right[uint32]
	}
}
