package ptx

import "unsafe"

// The types of numbers in registers.
type (
	integer interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	float  interface{ float32 | float64 }
	number interface{ integer | float }
)

// in returns what a register holds for a thread, as a number of a type.
func in[T number](r *lanes, i int) T { return *(*T)(unsafe.Pointer(&r[i])) }

// out sets what a register holds for a thread.
func out[T number](r *lanes, i int, x T) { *(*T)(unsafe.Pointer(&r[i])) = x }

// operation computes a register of three others.
type operation = func(d, a, b, c *lanes)

// truth is how a register holds whether something is so.
func truth(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func add[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, in[T](a, i)+in[T](b, i))
	}
}

func sub[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, in[T](a, i)-in[T](b, i))
	}
}

func mul[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, in[T](a, i)*in[T](b, i))
	}
}

func neg[T integer](d, a, _, _ *lanes) {
	for i := range d {
		out(d, i, -in[T](a, i))
	}
}

// wide multiplies numbers of one type to one of twice the size.
func wide[D, S integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, D(in[S](a, i))*D(in[S](b, i)))
	}
}

func mad[T integer](d, a, b, c *lanes) {
	for i := range d {
		out(d, i, in[T](a, i)*in[T](b, i)+in[T](c, i))
	}
}

// div gives all ones where the divisor is 0: the language says nothing about it.
func div[T integer](d, a, b, _ *lanes) {
	for i := range d {
		x, y := in[T](a, i), in[T](b, i)
		if y == 0 {
			d[i] = ^uint64(0)
			continue
		}
		out(d, i, x/y)
	}
}

func rem[T integer](d, a, b, _ *lanes) {
	for i := range d {
		x, y := in[T](a, i), in[T](b, i)
		if y == 0 {
			d[i] = ^uint64(0)
			continue
		}
		out(d, i, x%y)
	}
}

func least[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, min(in[T](a, i), in[T](b, i)))
	}
}

func most[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, max(in[T](a, i), in[T](b, i)))
	}
}

func and(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func or(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xor(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func not(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = ^a[i]
	}
}

// deny is not for what is true or false.
func deny(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = a[i] ^ 1
	}
}

// left and right shift by at most the type's size, as the machine does: Go gives 0 or
// the sign for more.
func left[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, in[T](a, i)<<uint32(b[i]))
	}
}

func right[T integer](d, a, b, _ *lanes) {
	for i := range d {
		out(d, i, in[T](a, i)>>uint32(b[i]))
	}
}

// field takes c bits of a from bit b on.
func field(d, a, b, c *lanes) {
	for i := range d {
		d[i] = uint64(uint32(a[i])>>(b[i]&255)) & (1<<min(c[i]&255, 32) - 1)
	}
}

func move(d, a, _, _ *lanes) { *d = *a }

func choose(d, a, b, c *lanes) {
	for i := range d {
		x := b[i]
		if c[i] != 0 {
			x = a[i]
		}
		d[i] = x
	}
}
