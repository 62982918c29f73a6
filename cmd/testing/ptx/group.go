package ptx

import (
	"math"
	"math/bits"
	"strings"
	"unsafe"
)

// Products of warp groups, wgmma: four warps together compute 64×128 or 64×8 sums, each
// warp 16 rows of them, of operands in shared memory. A product happens when it is waited for.
// Until then no thread may touch the sums; before it, a fence must follow what the threads
// did to the sums, and another one, with a barrier behind it, what they stored in shared
// memory.

// product is one that has begun.
type product struct {
	in    *instruction
	group int
}

// The operands of wgmma behind the sums, in list: the descriptors of A and of B, three
// that are always alike, and whether A and B lie across K.
const (
	descriptor = iota
	across     = 5
	behind     = 7
)

// sums returns the registers of the sums, four for every eight columns.
func (in *instruction) sums() []int32 { return in.list[:len(in.list)-behind] }

// groupFence is wgmma.fence.
func groupFence(w *warp, in *instruction) {
	w.together(in)
	w.unfenced = false
}

// groupMultiply is wgmma.mma_async.
func groupMultiply(w *warp, in *instruction) {
	w.together(in)
	if w.unfenced {
		w.fault(in, 0, "no fence follows what the thread did to the sums")
	}
	w.products = append(w.products, product{in, w.committed})
	w.operands(in)
}

func groupCommit(w *warp, in *instruction) {
	w.together(in)
	w.committed++
}

// groupWait lets products happen, but those of the last few groups.
func groupWait(w *warp, in *instruction) {
	w.together(in)
	for len(w.products) > 0 && w.products[0].group < w.committed-int(in.offset) {
		w.accumulate(w.products[0].in)
		w.products = w.products[1:]
	}
}

// operands reads 16 rows of A and the columns of B, and notes that.
func (w *warp) operands(in *instruction) (a *[16][16]float32, b *[128][16]float32) {
	number := bfloat
	if strings.HasSuffix(in.written.opcode, ".f16") {
		number = half
	}
	a, b = new([16][16]float32), new([128][16]float32)
	var all [64][16]float32 // rows of A: the four warps read them together
	w.matrix(in, 0).read(all[:], number)
	copy(a[:], all[w.first/width%4*16:])
	w.matrix(in, 1).read(b[:2*len(in.sums())], number)
	return a, b
}

func (w *warp) accumulate(in *instruction) {
	a, b := w.operands(in)
	for k, r := range in.sums() {
		for i := range width {
			row, col := i/4+k/2%2*8, k/4*8+i%4*2+k%2
			c := &w.registers[r][i]
			*c = uint64(math.Float32bits(w.program.freedom.dot(&a[row], &b[col], math.Float32frombits(uint32(*c)))))
		}
	}
}

// matrix is an operand in shared memory, as its descriptor tells.
type matrix struct {
	warp            *warp
	in              *instruction
	from            uint64
	leading, stride uint64
	across          bool // a row of memory holds one k for 64 rows
}

func (w *warp) matrix(in *instruction, k int) *matrix {
	rest := in.list[len(in.sums()):]
	d := w.registers[rest[descriptor+k]][0]
	if d>>62 != 1 || d>>49&7 != 0 {
		w.fault(in, 0, "the descriptor %#x is not of rows of 128 bytes from a multiple of 1024 on", d)
	}
	field := func(at int) uint64 { return d >> at & 0x3fff << 4 }
	return &matrix{w, in, field(0), field(16), field(32), w.registers[rest[across+k]][0] != 0}
}

// read returns rows, of 16 numbers each. The chunks of 16 bytes of eight rows of 128 bytes
// are permuted, by the address.
func (m *matrix) read(rows [][16]float32, number func(uint16) float32) {
	for r := 0; r < len(rows); r++ {
		for k := 0; k < 16; k++ {
			row, col := uint64(r), uint64(k)
			address := m.from + row/8*m.stride + row%8*128 + col*2
			if m.across {
				address = m.from + row/64*m.leading + col/8*m.stride + col%8*128 + row%64*2
			}
			address ^= address >> 7 & 7 << 4
			if address%16 == 0 {
				m.warp.byTensorCore(m.in, address)
			}
			rows[r][k] = number(*(*uint16)(unsafe.Pointer(&m.warp.block.shared[address])))
		}
	}
}

// byTensorCore reads a chunk of shared memory past the way that threads take. It sees what
// a thread stored only after a fence of that thread, and a barrier behind it.
func (w *warp) byTensorCore(in *instruction, address uint64) {
	w.inShared(in, 0, address, 16)
	for k := range uint64(4) {
		c := &w.block.cells[address/4+k]
		if c.bytes != nil {
			c = &c.bytes[0]
		}
		thread := (c.writer.thread - 1) % uint32(w.block.threads)
		if fences := w.block.fences[thread]; int(c.writer.fences) >= len(fences) || fences[c.writer.fences] >= w.block.epoch {
			w.fault(in, 0, "reads what thread %d stored without a fence and a barrier behind that", thread)
		}
	}
}

// sharedFence is fence.proxy.async.
func sharedFence(w *warp, _ *instruction) {
	for left := w.mask; left != 0; left &= left - 1 {
		thread := w.first + uint32(bits.TrailingZeros32(left))
		w.block.fences[thread] = append(w.block.fences[thread], w.block.epoch)
	}
}
