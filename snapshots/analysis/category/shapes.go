package category

import (
	"math"
	"slices"
)

// judgeShapes judges blocks of a file without a history, where results that a program
// keeps cannot be told from weights by their lives. Weights show in two ways: layers
// repeat every size as often, or matrices lie beside vectors of their dimensions.
func (j *Judge) judgeShapes(sizes []size) {
	repeats := repeat(sizes)
	for i := range sizes {
		s := &sizes[i]
		rule := heldUnknown
		if repeats || isVector(s) || isMatrix(s, sizes, 4) || isMatrix(s, sizes, 2) {
			rule = knownShape
		}
		for _, k := range s.held {
			j.held[k] = rule
		}
	}
}

// repeat reports whether nearly all bytes are in sizes that occur a multiple of some
// number of layers, or once or twice as embeddings do.
func repeat(sizes []size) bool {
	const fewest, most = 6, 256 // layers
	const each = 8              // matrices of one size in a layer: results have more
	for layers := most; layers >= fewest; layers-- {
		var fits, all, repeated int64
		agree := 0
		for i := range sizes {
			n := len(sizes[i].held)
			bytes := int64(n) * sizes[i].bytes
			all += bytes
			switch {
			case n%layers == 0 && (n <= each*layers || isVector(&sizes[i])):
				fits, repeated, agree = fits+bytes, repeated+bytes, agree+1
			case n <= 2:
				fits += bytes
			}
		}
		if fits*20 >= all*19 && repeated*2 >= all && agree > 1 {
			return true
		}
	}
	return false
}

// Of a model, vectors are biases and scales.
const (
	longestVector  = 64 << 10 // bytes
	shortestVector = 64       // elements
	fewestRows     = 1000     // of an embedding
	mostRows       = 300_000
)

// isVector knows sizes that may be those of biases and scales.
func isVector(s *size) bool {
	return s.bytes <= longestVector && len(s.held) > 1
}

// dimension returns the length of a vector that may be that of a layer, else 0; width
// is the bytes of an element.
func (s *size) dimension(width int64) int64 {
	const fewest, step = 5, 16
	length := s.bytes / width
	if !isVector(s) || len(s.held) < fewest || length < shortestVector || length%step != 0 || s.bytes%width != 0 {
		return 0
	}
	return length
}

// isMatrix reports whether a size is the product of two dimensions, and maybe of a
// kernel of three by three, or of one and the rows of an embedding. A layer has a norm or
// a bias for every matrix or two; results have no vectors.
func isMatrix(s *size, sizes []size, width int64) bool {
	for i := range sizes {
		v := &sizes[i]
		if v.dimension(width) == 0 || s.bytes%v.bytes != 0 {
			continue
		}
		rest := s.bytes / v.bytes
		if len(s.held) <= 2*len(v.held) && hasDimension(sizes, rest, width) {
			return true
		}
		// As many rows as a square has are a picture's.
		root := int64(math.Sqrt(float64(rest)))
		if len(s.held) <= 2 && rest > fewestRows && rest <= mostRows && root*root != rest {
			return true
		}
	}
	return false
}

func hasDimension(sizes []size, n, width int64) bool {
	const kernel = 3 * 3
	return slices.ContainsFunc(sizes, func(s size) bool {
		length := s.dimension(width)
		return length > 0 && (n == length || n == length*kernel)
	})
}
