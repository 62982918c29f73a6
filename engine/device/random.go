package device

// Seed is the place of an operation in the random sequence. Element i takes lane
// i mod 4 of Philox4x32-10 with key Seed and counter Offset + i/4 (128 bits wide,
// high half 0), so equal seeds give equal numbers on every device and with any
// number of threads. An operation on n elements uses Uses(n) counters.
type Seed struct {
	Seed, Offset uint64
}

// Uses returns by how much Offset must move past an operation on n elements.
func Uses(n int) uint64 {
	return uint64(n+3) / 4
}

// Random has the operations that use random numbers.
type Random interface {
	// Dropout zeroes every element with probability p and multiplies the rest
	// by 1/(1−p). Element i is kept when u ≥ p, u = (32 random bits >> 8)·2^-24.
	// mask, when given, is UInt8 [x.Len] and gets 1 for kept elements. The
	// gradient is the same call with dy for x and the same seed, or
	// DropoutBackward with the mask.
	Dropout(y, x, mask Array, p float64, s Seed)
	// DropoutBackward sets dx = dy·mask/(1−p).
	DropoutBackward(dx, dy, mask Array, p float64)
	// Uniform sets dst to low + (high−low)·u, u as in Dropout.
	Uniform(dst Array, low, high float64, s Seed)
	// Normal sets dst to mean + std·z, z from pairs of lanes by Box–Muller:
	// with u1 = 1−u of the even lane and u2 = u of the odd one,
	// √(−2·ln u1)·cos(2π·u2) for the even and ·sin(2π·u2) for the odd element.
	Normal(dst Array, mean, std float64, s Seed)
}
