package main

import (
	"fmt"
	"strings"
)

// transpose writes func name(dst, src *float32, blocks, dstStride, srcStride
// int) for strips of four or eight rows: strip rows of src, blocks·strip numbers
// each, become blocks·strip rows of strip numbers in dst.
func transpose(w *writer, name string, strip int) {
	w.function(fmt.Sprintf("%s turns %d rows into columns.", name, strip), name, 40)
	for i, register := range []string{"DI", "SI", "CX", "R8", "R9"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"dst", "src", "blocks", "dstStride", "srcStride"}[i], 8*i, register)
	}
	w.op("SHLQ $2, R8")
	w.op("SHLQ $2, R9")
	w.op("LEAQ (R9)(R9*2), R10")
	top := w.label("loop")
	w.mark(top)
	w.op("LEAQ (SI)(R9*4), R11")
	register := map[int]string{4: "X", 8: "Y"}[strip]
	for row := range strip {
		base := []string{"SI", "R11"}[row/4]
		w.op("VMOVUPS (%s)%s, %s%d", base, []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}[row%4], register, row)
	}
	exchange(w, register, strip)
	w.op("ADDQ $%d, SI", 4*strip)
	w.op("DECQ CX")
	w.op("JNE %s", top)
	w.finish()
}

// exchange transposes registers 0…strip−1 through 8…15 and stores the columns.
func exchange(w *writer, r string, strip int) {
	for pair := range strip / 2 { // 8+2p and 9+2p: rows 2p and 2p+1 interleaved
		w.op("VUNPCKLPS %s%d, %s%d, %s%d", r, 2*pair+1, r, 2*pair, r, 8+2*pair)
		w.op("VUNPCKHPS %s%d, %s%d, %s%d", r, 2*pair+1, r, 2*pair, r, 9+2*pair)
	}
	for half := range strip / 4 { // 0…3: four rows of every column; 4…7: the other four
		for i := range 2 {
			from := 8 + 4*half + i
			w.op("VSHUFPS $0x44, %s%d, %s%d, %s%d", r, from+2, r, from, r, 4*half+2*i)
			w.op("VSHUFPS $0xee, %s%d, %s%d, %s%d", r, from+2, r, from, r, 4*half+2*i+1)
		}
	}
	for column := range strip {
		result := fmt.Sprintf("%s%d", r, column)
		if strip == 8 { // columns 0…3 are in the lower halves, 4…7 in the upper
			result = "Y8"
			w.op("VPERM2F128 %s, Y%d, Y%d, Y8", []string{"$0x20", "$0x31"}[column/4], 4+column%4, column%4)
		}
		w.op("VMOVUPS %s, (DI)", result)
		w.op("ADDQ R8, DI")
	}
}

// spread writes func name(dst, src *float32, pieces, step int), which copies
// consecutive pieces of width numbers from src to places that are step numbers
// apart.
func spread(w *writer, width int) {
	name := fmt.Sprintf("spread%dAVX", width)
	w.function(fmt.Sprintf("%s moves pieces of %d numbers apart.", name, width), name, 32)
	for i, register := range []string{"DI", "SI", "CX", "R8"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"dst", "src", "pieces", "step"}[i], 8*i, register)
	}
	w.op("SHLQ $2, R8")
	top := w.label("loop")
	w.mark(top)
	move := func(operands func(at, register int) [2]string) {
		for at, register := 0, 0; at < width; register++ {
			o := operands(4*at, register)
			switch {
			case width-at >= 8:
				w.op("VMOVUPS %s, %s", strings.ReplaceAll(o[0], "V", "Y"), strings.ReplaceAll(o[1], "V", "Y"))
				at += 8
			case width-at >= 4:
				w.op("VMOVUPS %s, %s", strings.ReplaceAll(o[0], "V", "X"), strings.ReplaceAll(o[1], "V", "X"))
				at += 4
			default:
				w.op("VMOVSD %s, %s", strings.ReplaceAll(o[0], "V", "X"), strings.ReplaceAll(o[1], "V", "X"))
				at += 2
			}
		}
	}
	move(func(at, register int) [2]string {
		return [2]string{fmt.Sprintf("%d(SI)", at), fmt.Sprintf("V%d", register)}
	})
	move(func(at, register int) [2]string {
		return [2]string{fmt.Sprintf("V%d", register), fmt.Sprintf("%d(DI)", at)}
	})
	w.op("ADDQ $%d, SI", 4*width)
	w.op("ADDQ R8, DI")
	w.op("DECQ CX")
	w.op("JNE %s", top)
	w.finish()
}

// sift writes func siftAVX512(dst, src *float32, s *Sift, grid *Grid): see type Sift.
func sift(w *writer) {
	grid(w, "siftAVX512 picks numbers of rows.", "siftAVX512", func() {
		w.op("VMOVUPS (AX), Z2")
		for i := range 4 { // read, of two registers; picked; written
			w.op("KMOVW %d(AX), K%d", 64+2*i, 1+i)
		}
	}, func() {
		w.op("VMOVUPS.Z (BX), K1, Z0")
		w.op("VMOVUPS.Z 64(BX), K2, Z1")
		w.op("VPERMT2PS.Z Z1, Z2, K3, Z0")
		w.op("VMOVUPS Z0, K4, (DX)")
	})
}

// fold writes func foldAVX512(dst, src *float32, s *Fold, grid *Grid): see type Fold.
func fold(w *writer) {
	grid(w, "foldAVX512 adds numbers of rows.", "foldAVX512", func() {
		for half := range 2 {
			w.op("VMOVUPS %d(AX), Z%d", 64*half, 2+half)
		}
		for i := range 3 { // read; added to, of two registers
			w.op("KMOVW %d(AX), K%d", 128+2*i, 1+i)
		}
	}, func() {
		w.op("VMOVUPS.Z (BX), K1, Z0")
		for half := range 2 {
			w.op("VPERMPS.Z Z0, Z%d, K%d, Z1", 2+half, 2+half)
			w.op("VADDPS.Z %d(DX), Z1, K%d, Z1", 64*half, 2+half)
			w.op("VMOVUPS Z1, K%d, %d(DX)", 2+half, 64*half)
		}
	})
}

// grid writes a function that goes through the rows of a Grid: DX points to the
// output and BX to the input. begin finds the description of the work in AX.
func grid(w *writer, comment, name string, begin, row func()) {
	w.function(comment, name, 32)
	for i, register := range []string{"DI", "SI", "AX", "BX"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"dst", "src", "s", "grid"}[i], 8*i, register)
	}
	for i, register := range []string{"R8", "R9", "R10", "R11", "R12", "R13"} { // the fields of Grid
		w.op("MOVQ %d(BX), %s", 8*i, register)
		if i >= 2 {
			w.op("SHLQ $2, %s", register)
		}
	}
	begin()
	groups, rows := w.label("group"), w.label("row")
	w.mark(groups)
	w.op("MOVQ DI, DX")
	w.op("MOVQ SI, BX")
	w.op("MOVQ R8, CX")
	w.mark(rows)
	row()
	w.op("ADDQ R10, DX")
	w.op("ADDQ R11, BX")
	w.op("DECQ CX")
	w.op("JNE %s", rows)
	w.op("ADDQ R12, DI")
	w.op("ADDQ R13, SI")
	w.op("DECQ R9")
	w.op("JNE %s", groups)
	w.finish()
}

// conversions writes the casts between float32 and the halves: func(dst, src,
// n), n a multiple of eight.
func conversions(w *writer) {
	cast(w, "widenBFloat16AVX", 16, 32, func() {
		w.op("VPMOVZXWD (SI), Y0")
		w.op("VPSLLD $16, Y0, Y0")
		w.op("VMOVUPS Y0, (DI)")
	})
	cast(w, "widenFloat16AVX", 16, 32, func() {
		w.op("VCVTPH2PS (SI), Y0")
		w.op("VMOVUPS Y0, (DI)")
	})
	cast(w, "narrowFloat16AVX", 32, 16, func() {
		w.op("VMOVUPS (SI), Y0")
		w.op("VCVTPS2PH $0, Y0, (DI)")
	})
	cast(w, "narrowBFloat16AVX", 32, 16, func() { narrowBFloat16(w) })
}

// pairUp writes func pairAVX(dst *float32, low, high *uint16, n int), which joins
// words from their lower halves in low and their upper halves in high, n a
// multiple of eight.
func pairUp(w *writer) {
	w.function("pairAVX joins n halves of each, eight at a time.", "pairAVX", 32)
	for i, register := range []string{"DI", "SI", "DX", "CX"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"dst", "low", "high", "n"}[i], 8*i, register)
	}
	top := w.label("loop")
	w.mark(top)
	w.op("VPMOVZXWD (SI), Y0")
	w.op("VPMOVZXWD (DX), Y1")
	w.op("VPSLLD $16, Y1, Y1")
	w.op("VPOR Y0, Y1, Y0")
	w.op("VMOVUPS Y0, (DI)")
	w.op("ADDQ $16, SI")
	w.op("ADDQ $16, DX")
	w.op("ADDQ $32, DI")
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.finish()
}

// narrowBFloat16 rounds to nearest even by adding 0x7fff plus the lowest kept
// bit; a NaN instead keeps its upper half and becomes quiet.
func narrowBFloat16(w *writer) {
	w.op("VMOVUPS (SI), Y0")
	w.op("VPSRLD $16, Y0, Y1")
	w.op("VPAND Y15, Y1, Y2")
	w.op("VPADDD Y14, Y2, Y2")
	w.op("VPADDD Y0, Y2, Y2")
	w.op("VPSRLD $16, Y2, Y2")
	w.op("VPOR Y13, Y1, Y1")
	w.op("VCMPPS $3, Y0, Y0, Y3")
	w.op("VBLENDVPS Y3, Y1, Y2, Y2")
	w.op("VEXTRACTI128 $1, Y2, X3")
	w.op("VPACKUSDW X3, X2, X2")
	w.op("VMOVUPS X2, (DI)")
}

func cast(w *writer, name string, from, to int, body func()) {
	w.function(name+" converts n numbers, eight at a time.", name, 24)
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ src+8(FP), SI")
	w.op("MOVQ n+16(FP), CX")
	for i, constant := range []int{1, 0x7fff, 0x40} {
		w.op("MOVL $%#x, AX", constant)
		w.op("VMOVD AX, X%d", 15-i)
		w.op("VPBROADCASTD X%d, Y%d", 15-i, 15-i)
	}
	top := w.label("loop")
	w.mark(top)
	body()
	w.op("ADDQ $%d, SI", from)
	w.op("ADDQ $%d, DI", to)
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.finish()
}
