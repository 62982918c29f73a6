package ptx

import "math"

// The comparisons are ordered: false if a number is none. The others are made of them by
// unordered.

func equal[T number](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = truth(in[T](a, i) == in[T](b, i))
	}
}

func less[T number](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = truth(in[T](a, i) < in[T](b, i))
	}
}

func atMost[T number](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = truth(in[T](a, i) <= in[T](b, i))
	}
}

func isNaN[T float](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = truth(math.IsNaN(float64(in[T](a, i))) || math.IsNaN(float64(in[T](b, i))))
	}
}

// swapped exchanges the operands of a comparison.
func swapped(compare operation) operation {
	return func(d, a, b, c *lanes) { compare(d, b, a, c) }
}

// denied is true where a comparison is not.
func denied(compare operation) operation {
	return func(d, a, b, c *lanes) {
		compare(d, a, b, c)
		deny(d, d, nil, nil)
	}
}

// comparisons returns those of a type by their names.
func comparisons[T number]() map[string]operation {
	return map[string]operation{
		"eq": equal[T], "lt": less[T], "le": atMost[T], "gt": swapped(less[T]), "ge": swapped(atMost[T]),
		"neu": denied(equal[T]), "ltu": denied(swapped(atMost[T])), "leu": denied(swapped(less[T])),
		"gtu": denied(atMost[T]), "geu": denied(less[T]),
	}
}

// ofIntegers adds those that only integers have, ofFloats those of floating point.
func ofIntegers[T integer]() map[string]operation {
	all := comparisons[T]()
	all["ne"] = all["neu"]
	return all
}

func ofFloats[T float]() map[string]operation {
	all := comparisons[T]()
	all["nan"] = isNaN[T]
	return all
}
