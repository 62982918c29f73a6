package simd

import "unsafe"

// plain is the kernel for processors without assembly: a 4×4 tile, which is
// what sixteen scalar registers and the compiler manage well.
var plain = Product{Name: "Go 4×4", Rows: 4, Cols: 4, InWord: 1, Run: productPlain}

func productPlain(k int, a, b, c *float32, stride int, add bool) {
	var sum [4][4]float32
	as, bs := unsafe.Slice(a, 4*k), unsafe.Slice(b, 4*k)
	for len(as) >= 4 && len(bs) >= 4 {
		b0, b1, b2, b3 := bs[0], bs[1], bs[2], bs[3]
		for i := range sum {
			x, row := as[i], &sum[i]
			row[0] += x * b0
			row[1] += x * b1
			row[2] += x * b2
			row[3] += x * b3
		}
		as, bs = as[4:], bs[4:]
	}
	cs := unsafe.Slice(c, 3*stride+4)
	for i := range sum {
		for j, s := range sum[i] {
			if add {
				s += cs[i*stride+j]
			}
			cs[i*stride+j] = s
		}
	}
}
