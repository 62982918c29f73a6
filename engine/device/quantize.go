package device

import (
	"slices"
	"sync"
)

// # The dynamic quantisation maps
//
// Eight bits hold a sign (in the signed map), an exponent of ten written as a
// run of zero bits, and a linear fraction in what is left. A block is divided
// by its largest magnitude first, so values are in [-1, 1]. For the decade
// 10^(i-6), i from 0 to 6, the signed map has 2^i values and the unsigned one
// 2^(i+1), evenly placed in [0.1, 1] times the decade at the middles of equal
// intervals; both also have exactly 0 and 1. Small moments thus keep a relative
// precision that a linear code would lose. After Dettmers et al., "8-bit
// Optimizers via Block-wise Quantization" (ICLR 2022), and equal to the maps of
// its published implementation.

// ZeroM is the code of 0 in the signed map.
const ZeroM = 127

// ZeroV is the code of 0 in the unsigned map.
const ZeroV = 0

const quantDecades = 7

var quantMaps = sync.OnceValue(func() (maps struct{ signed, unsigned [256]float32 }) {
	copy(maps.signed[:], quantMap(true))
	copy(maps.unsigned[:], quantMap(false))
	return maps
})

// QuantMap returns the 256 values of the signed or the unsigned map, ascending.
// Safe for concurrent use.
func QuantMap(signed bool) [256]float32 {
	if signed {
		return quantMaps().signed
	}
	return quantMaps().unsigned
}

func quantMap(signed bool) []float32 {
	values := []float32{0, 1}
	decade := 1e-6
	for i := range quantDecades {
		steps := 1 << i
		if !signed {
			steps *= 2
		}
		for s := range steps {
			value := float32(decade * (0.1 + 0.9*(float64(s)+0.5)/float64(steps)))
			values = append(values, value)
			if signed {
				values = append(values, -value)
			}
		}
		decade *= 10
	}
	slices.Sort(values)
	return values
}
