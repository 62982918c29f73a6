package ptx

import "strings"

const (
	multiplyGroupBfloat = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
	multiplyGroupHalf   = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
)

// guardSums lets the instructions that touch the sums of products of warp groups check
// that no product is under way, and tell that they did.
func (p *Program) guardSums() {
	touched := make(map[int32]bool)
	for i := range p.code {
		if s := p.code[i].written; s != nil && strings.HasPrefix(s.opcode, "wgmma.mma_async") {
			for _, r := range p.code[i].list[:sums] {
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
