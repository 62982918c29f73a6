package ptx

import (
	"math"
	"strings"
)

// multiplies reports whether an instruction is a product of tensor cores.
func (in *instruction) multiplies() bool {
	return strings.HasPrefix(in.written.opcode, "mma.sync.")
}

// loadMatrices is ldmatrix: thread i passes the address of row i%8 of matrix i/8, and
// gets of every matrix the two numbers at row i/4, column 2·(i%4).
func loadMatrices(w *warp, in *instruction) {
	w.matrices(in, func(rows *[8][8]uint16, i int) uint32 {
		return uint32(rows[i/4][i%4*2]) | uint32(rows[i/4][i%4*2+1])<<16
	})
}

// loadTransposed is the same with every matrix transposed.
func loadTransposed(w *warp, in *instruction) {
	w.matrices(in, func(rows *[8][8]uint16, i int) uint32 {
		return uint32(rows[i%4*2][i/4]) | uint32(rows[i%4*2+1][i/4])<<16
	})
}

func (w *warp) matrices(in *instruction, word func(rows *[8][8]uint16, i int) uint32) {
	w.together(in)
	addresses := w.registers[in.a]
	for k, r := range in.list {
		var rows [8][8]uint16
		for row := range rows {
			i := k*8 + row
			rows[row] = *(*[8]uint16)(w.at(in, i, uint64(uint32(addresses[i]))+in.offset))
		}
		for i := range width {
			w.registers[r][i] = uint64(word(&rows, i))
		}
	}
}

// bfloat returns a number of bfloat16.
func bfloat(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// multiplyBfloat and multiplyHalf add a 16×16 by 16×8 product to c. list has four
// registers of the sums, four of a, two of b and four of c; see multiply_bfloat in rt.h
// for what a thread holds.
func multiplyBfloat(w *warp, in *instruction) { w.multiply(in, bfloat) }

func multiplyHalf(w *warp, in *instruction) { w.multiply(in, half) }

func (w *warp) multiply(in *instruction, number func(uint16) float32) {
	w.together(in)
	var a [16][16]float32
	var b [8][16]float32 // by column
	for i := range width {
		row, col := i/4, i%4*2
		for k := range 4 { // the places of the four pairs
			x := uint32(w.registers[in.list[4+k]][i])
			at := &a[row+k%2*8]
			at[col+k/2*8], at[col+k/2*8+1] = number(uint16(x)), number(uint16(x>>16))
		}
		for k := range 2 {
			x := uint32(w.registers[in.list[8+k]][i])
			b[row][col+k*8], b[row][col+k*8+1] = number(uint16(x)), number(uint16(x>>16))
		}
	}
	for i := range width {
		for k := range 4 {
			row, col := i/4+k/2*8, i%4*2+k%2
			c := math.Float32frombits(uint32(w.registers[in.list[10+k]][i]))
			out(&w.registers[in.list[k]], i, w.program.freedom.dot(&a[row], &b[col], c))
		}
	}
}

// fragments builds an instruction whose operands are lists of registers.
func fragments(step func(*warp, *instruction)) func(*linker, *statement, *instruction) {
	return func(l *linker, s *statement, in *instruction) {
		in.step = step
		for _, o := range s.operands {
			for _, name := range inside(o) {
				in.list = append(in.list, l.operand(s, name))
			}
		}
	}
}

// matrices builds ldmatrix.
func matrices(step func(*warp, *instruction)) func(*linker, *statement, *instruction) {
	return func(l *linker, s *statement, in *instruction) {
		in.step, in.access = step, access{space: shared, bytes: 16}
		l.data(s, in, s.operands[0], 4)
		l.address(s, in, s.operands[1])
	}
}
