package cpu

import (
	"math"
	"sync"

	"github.com/memtop/memtop/engine/device"
)

// quantizer turns numbers in [-1, 1] into codes of one of the maps and back.
//
// The nearest value of a map is found by the upper bits of the number: they
// leave at most two codes, of which one comparison, without a branch, picks.
type quantizer struct {
	values [257]float32 // ascending, and one that is never nearest
	// first is the lower code of the numbers in a bucket, positive ones first.
	first [2 * buckets]uint8
}

// A bucket has the numbers with the same sign, exponent and upper seven bits of
// the fraction: no map has two changes of code in so little. All below 2^-24
// fall in the first, for they become 0.
const (
	bucketBits   = 7
	bucketShift  = 23 - bucketBits
	bucketOffset = (127 - 24) << bucketBits
	buckets      = 24<<bucketBits + 1
)

func bucket(x float32) int {
	bits := math.Float32bits(x)
	i := max(0, int(bits&0x7fffffff>>bucketShift)-bucketOffset)
	return i + int(bits>>31)*buckets
}

var quantizers = sync.OnceValues(func() (signed, unsigned *quantizer) {
	return newQuantizer(true), newQuantizer(false)
})

func newQuantizer(signed bool) *quantizer {
	q := &quantizer{}
	values := device.QuantMap(signed)
	copy(q.values[:], values[:])
	q.values[256] = 8
	for i := range buckets {
		start := uint32(i+bucketOffset) << bucketShift
		if i > 0 {
			q.first[i] = q.search(0, math.Float32frombits(start))
		} else {
			q.first[i] = q.search(0, 0)
		}
		lowest := math.Float32frombits(start + 1<<bucketShift - 1)
		q.first[buckets+i] = q.search(0, -lowest)
	}
	return q
}

// search returns the code of the value nearest to x, which is code or above. Of
// two that are equally near it is the lower.
func (q *quantizer) search(code uint8, x float32) uint8 {
	for code < 255 && x-q.values[code] > q.values[code+1]-x {
		code++
	}
	return code
}

func (q *quantizer) nearest(x float32) uint8 {
	code := q.first[bucket(x)]
	nearer := (q.values[int(code)+1] - x) - (x - q.values[code])
	return code + uint8(math.Float32bits(nearer)>>31)
}

func (q *quantizer) decode(x []float32, codes []uint8, scale float32) {
	for i, code := range codes {
		x[i] = q.values[code] * scale
	}
}

// encode writes the codes of x and returns their scale, the largest magnitude.
// With a scale of 0, infinity or NaN there is nothing to divide by: all codes
// are those of 0. The quotients are 1 at most, but for the last bit, which no
// bucket sees.
func (q *quantizer) encode(codes []uint8, x []float32) float32 {
	var largest uint32 // magnitudes compare as their bits do
	for _, v := range x {
		largest = max(largest, math.Float32bits(v)&0x7fffffff)
	}
	scale := math.Float32frombits(largest)
	inverse := 1 / scale
	if !(inverse > 0 && inverse <= math.MaxFloat32) {
		zero := q.nearest(0)
		for i := range codes {
			codes[i] = zero
		}
		return scale
	}
	codes = codes[:len(x)]
	for i, v := range x {
		codes[i] = q.nearest(v * inverse)
	}
	return scale
}
