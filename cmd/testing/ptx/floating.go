package ptx

import "math"

// quiet is the one NaN that arithmetic of float32 gives.
var quiet = math.Float32frombits(0x7fffffff)

// put sets a result; what is no number becomes the machine's NaN.
func put[T float](d *lanes, i int, x T) {
	if math.IsNaN(float64(x)) {
		x = T(quiet)
	}
	out(d, i, x)
}

func plus[T float](d, a, b, _ *lanes) {
	for i := range d {
		put(d, i, in[T](a, i)+in[T](b, i))
	}
}

func minus[T float](d, a, b, _ *lanes) {
	for i := range d {
		put(d, i, in[T](a, i)-in[T](b, i))
	}
}

func times[T float](d, a, b, _ *lanes) {
	for i := range d {
		put(d, i, in[T](a, i)*in[T](b, i))
	}
}

func divide[T float](d, a, b, _ *lanes) {
	for i := range d {
		put(d, i, in[T](a, i)/in[T](b, i))
	}
}

// of computes a function of one number.
func of[T float](f func(x T) T) operation {
	return func(d, a, _, _ *lanes) {
		for i := range d {
			put(d, i, f(in[T](a, i)))
		}
	}
}

// absolute32 clears the sign of a number, and of what is none.
func absolute32(d, a, _, _ *lanes) {
	for i := range d {
		out(d, i, uint32(a[i])&^(1<<31))
	}
}

// opposite changes the sign.
func opposite32(d, a, _, _ *lanes) {
	for i := range d {
		out(d, i, uint32(a[i])^1<<31)
	}
}

func opposite64(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = a[i] ^ 1<<63
	}
}

// larger is max.f32: a number wins over what is none.
func larger(d, a, b, _ *lanes) {
	for i := range d {
		x, y := in[float32](a, i), in[float32](b, i)
		switch {
		case x != x && y != y:
			x = quiet
		case x != x:
			x = y
		case y == y:
			x = max(x, y)
		}
		out(d, i, x)
	}
}

func fused32(d, a, b, c *lanes) {
	for i := range d {
		put(d, i, fuse(in[float32](a, i), in[float32](b, i), in[float32](c, i)))
	}
}

func fused64(d, a, b, c *lanes) {
	for i := range d {
		put(d, i, math.FMA(in[float64](a, i), in[float64](b, i), in[float64](c, i)))
	}
}

// fuse returns a·b + c with one rounding. The product is exact in float64. The sum is
// rounded to odd there, which has enough bits more that rounding again gives what
// rounding once would.
func fuse(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	sum := p + q
	part := sum - p
	lost := (p - (sum - part)) + (q - part)
	if lost > 0 || lost < 0 {
		bits := math.Float64bits(sum)
		if bits&1 == 0 {
			if (lost > 0) == (sum > 0) {
				bits++
			} else {
				bits--
			}
			sum = math.Float64frombits(bits)
		}
	}
	return float32(sum)
}

// flushed returns x, or 0 of its sign if x is subnormal.
func flushed(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & (1 << 31))
	}
	return x
}

func root32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func inverse[T float](x T) T { return 1 / x }
