package reopen

import (
	"math/bits"
	"unsafe"
)

// # Checksums
//
// They find damage, not intent: what keeps others out is the folder. Entries have
// hundreds of megabytes that must be checked in some hundredths of a second, so a sum
// is four products side by side, of a word in four each. Each step maps different
// states to different states, so one damaged word always shows.

const (
	lanes = 4
	odd   = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio
)

// sum returns the checksum of b.
func sum(b []byte) uint64 {
	state := [lanes]uint64{1, 2, 3, uint64(len(b))}
	whole := len(b) &^ (8*lanes - 1)
	if whole > 0 {
		words := unsafe.Slice((*[lanes]uint64)(unsafe.Pointer(unsafe.SliceData(b))), whole/(8*lanes))
		a0, a1, a2, a3 := state[0], state[1], state[2], state[3]
		for i := range words {
			w := &words[i]
			a0, a1, a2, a3 = (a0^w[0])*odd, (a1^w[1])*odd, (a2^w[2])*odd, (a3^w[3])*odd
		}
		state = [lanes]uint64{a0, a1, a2, a3}
	}
	h := uint64(len(b))
	for _, c := range b[whole:] {
		h = (h ^ uint64(c)) * odd
	}
	for _, s := range state {
		h = (bits.RotateLeft64(h, 23) ^ s ^ s>>32) * odd
	}
	return h
}
