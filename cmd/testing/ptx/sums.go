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
			operate := in.lanes
			in.lanes, in.step = nil, func(w *warp, in *instruction) {
				if len(w.products) > 0 {
					w.fault(in, 0, "touches sums of a product that was not waited for")
				}
				w.unfenced = true
				w.operate(in, operate)
			}
		}
	}
}
