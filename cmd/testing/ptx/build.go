package ptx

import "strings"

// builders make instructions that do more than compute a register, by the beginnings of
// their names.
var builders []struct {
	begins string
	build  func(l *linker, s *statement, in *instruction)
}

func init() { // not a literal: the builders ask for it, too
	builders = []struct {
		begins string
		build  func(l *linker, s *statement, in *instruction)
	}{
		{"bra", (*linker).branch},
		{"ret", (*linker).branch},
		{"call", (*linker).call},
		{"cvta.", (*linker).window},
		{approximate, (*linker).power},
		{"ld.", (*linker).load},
		{"st.", (*linker).store},
		{"atom.", (*linker).atomic},
		{"bar.sync", stepOf(barrier)},
		{"shfl.sync.bfly.b32", stepOf(shuffle)},
		{"cp.async.cg.shared.global", copyOf},
		{"cp.async.commit_group", stepOf(commitCopies)},
		{"cp.async.wait_group", waitsFor(waitCopies)},
		{"ldmatrix.sync.aligned.m8n8.x4.shared.b16", matrices(loadMatrices)},
		{"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", matrices(loadTransposed)},
		{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", fragments(multiplyBfloat)},
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", fragments(multiplyHalf)},
	}
}

func (*linker) builder(opcode string) func(*linker, *statement, *instruction) {
	for _, b := range builders {
		if strings.HasPrefix(opcode, b.begins) {
			return b.build
		}
	}
	return nil
}

// stepOf builds an instruction whose operands are registers, d, a, b and c in order.
func stepOf(step func(*warp, *instruction)) func(*linker, *statement, *instruction) {
	return func(l *linker, s *statement, in *instruction) {
		in.step = step
		for i, r := range []*int32{&in.d, &in.a, &in.b, &in.c} {
			if i < len(s.operands) {
				*r = l.operand(s, s.operands[i])
			}
		}
	}
}

// branch builds a branch. To return is to go to the function's end.
func (l *linker) branch(s *statement, in *instruction) {
	in.step, in.branches, in.conditional, in.unless = branch, true, s.guard != "", s.unless
	in.target = int32(len(l.function.body))
	if s.opcode != "ret" {
		target, ok := l.function.labels[s.operands[0]]
		if !ok {
			l.fail(s, "there is no label %s", s.operands[0])
		}
		in.target = int32(target)
	}
	if in.conditional {
		in.a = l.register(s.guard)
	}
}

// call builds a call. list has, by twos, registers to copy before it.
func (l *linker) call(s *statement, in *instruction) {
	in.step, in.callee = call, l.module.functions[calleeOf(s)]
	if in.callee == nil {
		return // which was reported
	}
	after := false // the function's name
	for _, o := range s.operands {
		switch {
		case !strings.HasPrefix(o, "("):
			after = true
		case !after:
			// What is read behind the call is where the function leaves it.
			l.slots[slotKey(l.function, inside(o)[0])] = l.slot(in.callee, in.callee.results[0].name)
		default:
			for i, name := range inside(o) {
				in.list = append(in.list, l.slot(in.callee, in.callee.params[i].name), l.slot(l.function, name))
			}
		}
	}
}

// window builds a conversion between an address of a space and a general one. That of
// global memory is both.
func (l *linker) window(s *statement, in *instruction) {
	way, name, to := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s.opcode, "cvta."), ".u64"), ".")
	in.lanes = add[uint64]
	if !to {
		name = way
	} else {
		in.lanes = sub[uint64]
	}
	in.d, in.a, in.b = l.operand(s, s.operands[0]), l.operand(s, s.operands[1]), l.value(windows[spaces[name]])
}
