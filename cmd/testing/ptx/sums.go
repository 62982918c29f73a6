package ptx

import "strings"

const multiplyGroup = "wgmma.mma_async.sync.aligned."

// guardSums lets the instructions that touch the sums of products of warp groups check
// that no product is under way, and tell that they did.
func (p *Program) guardSums() {
	touched := make(map[int32]bool)
	for i := range p.code {
		if s := p.code[i].written; s != nil && strings.HasPrefix(s.opcode, multiplyGroup) {
			for _, r := range p.code[i].sums() {
				touched[r] = true
			}
		}
	}
	for i := range p.code {
		in := &p.code[i]
		if in.lanes != nil && (touched[in.d] || touched[in.a] || touched[in.b] || touched[in.c]) {
			in.lanes, in.guarded, in.step = nil, in.lanes, touchSums
		}
	}
}

func touchSums(w *warp, in *instruction) {
	if len(w.products) > 0 {
		w.fault(in, 0, "touches sums of a product that was not waited for")
	}
	w.unfenced = true
	w.operate(in, in.guarded)
}

// computes returns what an instruction makes of registers, nil if it does more than that.
func (in *instruction) computes() *operation {
	switch {
	case in.lanes != nil:
		return &in.lanes
	case in.guarded != nil:
		return &in.guarded
	}
	return nil
}
