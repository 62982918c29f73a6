package data

import "math/bits"

// order is a permutation of [0, n) that is computed number by number, so that a
// data set of billions of samples is shuffled without a list of them.
//
// It is a Feistel network on the smallest even number of bits that holds n-1.
// Numbers beyond n are sent through again until they fall below it, which takes
// fewer than four rounds on average; that keeps it a permutation.
type order struct {
	n    uint64
	half uint // bits of each half
	keys [4]uint64
}

func newOrder(n int, seed, epoch uint64) order {
	width := max(uint(bits.Len64(uint64(n-1))), 2)
	o := order{n: uint64(n), half: (width + 1) / 2}
	state := mix(seed) ^ mix(epoch+0x9e3779b97f4a7c15)
	for i := range o.keys {
		state = mix(state + 0x9e3779b97f4a7c15)
		o.keys[i] = state
	}
	return o
}

// at returns where the permutation sends i.
func (o *order) at(i int) int {
	x := uint64(i)
	for {
		if x = o.once(x); x < o.n {
			return int(x)
		}
	}
}

func (o *order) once(x uint64) uint64 {
	mask := uint64(1)<<o.half - 1
	left, right := x>>o.half, x&mask
	for _, key := range o.keys {
		left, right = right, left^(mix(right^key)&mask)
	}
	return left<<o.half | right
}

// mix is the finishing step of SplitMix64: every bit of x changes half of the
// bits of the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
