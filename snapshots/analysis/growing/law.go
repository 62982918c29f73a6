package growing

import (
	"math"
	"slices"
)

// Point is the memory that a program took with one value, in bytes.
type Point struct {
	Value int64
	Bytes int64
}

// Kind is the kind of a law of growth.
type Kind int

// The kinds of laws.
const (
	Other Kind = iota // none of the others
	Constant
	Linear
	Square
)

// String returns the name, as JSON has it.
func (k Kind) String() string { return [...]string{"other", "constant", "linear", "square"}[k] }

// Law gives the bytes as a polynomial of the value. The zero value is Other.
type Law struct {
	Kind                      Kind
	Fixed, PerUnit, PerSquare float64 // bytes
}

// At returns the bytes that the law gives for a value.
func (l Law) At(value int64) int64 {
	v := float64(value)
	return int64(math.Round(l.Fixed + l.PerUnit*v + l.PerSquare*v*v))
}

// tolerance is how far off a law may be at a point, as a part of it: allocators round,
// so nothing grows to the byte as its formula.
const tolerance = 0.005

// Fit returns the simplest law that holds at all points, Other if none does. One
// point determines a constant, two a line and three a square. Only one more point
// is evidence for a law: three points that a peak has as it moves from one moment to
// another are always on some parabola.
func Fit(points []Point) Law {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return int(a.Value - b.Value) })
	n := len(points)
	if n == 0 {
		return Law{}
	}
	first, middle, last := points[0], points[n/2], points[n-1]
	candidates := []Law{{Kind: Constant, Fixed: float64(first.Bytes)}}
	if n >= 2 && first.Value != last.Value {
		slope := float64(last.Bytes-first.Bytes) / float64(last.Value-first.Value)
		candidates = append(candidates, Law{Kind: Linear, Fixed: float64(first.Bytes) - slope*float64(first.Value), PerUnit: slope})
	}
	if n >= 4 {
		candidates = append(candidates, square(first, middle, last))
	}
	for _, law := range candidates {
		if law.holds(points) {
			return law
		}
	}
	return Law{}
}

// square returns the parabola through three points, by divided differences.
func square(a, b, c Point) Law {
	x, y, z := float64(a.Value), float64(b.Value), float64(c.Value)
	ab, bc := float64(b.Bytes-a.Bytes)/(y-x), float64(c.Bytes-b.Bytes)/(z-y)
	curve := (bc - ab) / (z - x)
	return Law{Square, float64(a.Bytes) - ab*x + curve*x*y, ab - curve*(x+y), curve}
}

func (l Law) holds(points []Point) bool {
	return !slices.ContainsFunc(points, func(p Point) bool {
		return !(math.Abs(float64(l.At(p.Value)-p.Bytes)) <= tolerance*float64(p.Bytes)+roundings)
	})
}

// roundings is how many bytes a law may be off whatever the size: some blocks of 512.
const roundings = 64 << 10
