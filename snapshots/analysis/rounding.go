package analysis

import (
	"math"
	"math/bits"
	"strconv"

	"memtop/snapshots/trace"
)

// Rounding
//
// A trace says what was asked for, not what was handed out. PyTorch rounds a
// request up to 512 bytes, or to the next of some divisions of a power of two
// when its settings say so. A block of the large class may be up to 1 MiB
// larger still; see "Rests".
const (
	minBlock   = 512
	smallLimit = 1 << 20 // the largest block of the small class, and the largest rest left uncut
	smallSize  = 2 << 20 // the size of a segment of the small class
)

// rounder knows the settings that rounding depends on.
type rounder struct {
	divisions [16]int64 // by power of two from 1 MiB on
	maxSplit  int64     // blocks from this size on are never cut; 0 when there is no limit
}

func newRounder(settings []trace.Setting) rounder {
	var r rounder
	for _, s := range settings {
		switch s.Key {
		case "max_split_size":
			if v, ok := s.Value.(int64); ok && v > 0 {
				r.maxSplit = v
			}
		case "roundup_power2_divisions":
			r.setDivisions(s.Value)
		}
	}
	return r
}

func (r *rounder) setDivisions(value any) {
	switch v := value.(type) {
	case int64:
		for i := range r.divisions {
			r.divisions[i] = v
		}
	case []any:
		for i := range min(len(v), len(r.divisions)) {
			r.divisions[i], _ = v[i].(int64)
		}
	case []trace.Setting:
		for _, s := range v {
			mebibytes, err := strconv.ParseUint(s.Key, 10, 32)
			if err != nil || mebibytes == 0 {
				continue
			}
			if n, ok := s.Value.(int64); ok {
				r.divisions[min(bits.Len64(mebibytes)-1, len(r.divisions)-1)] = n
			}
		}
	}
}

// round returns the size of the block that serves a request of n bytes.
func (r *rounder) round(n int64) int64 {
	switch {
	case n < minBlock:
		return minBlock
	case n > math.MaxInt64/4:
		return n // nonsense, which must not overflow
	}
	exponent := bits.Len64(uint64(n)) - 1
	d := r.divisions[max(0, min(exponent-20, len(r.divisions)-1))]
	if d > 1 && n > minBlock*d {
		return roundPower2(n, d, exponent)
	}
	return roundTo(n, minBlock)
}

func roundPower2(n, divisions int64, exponent int) int64 {
	floor := int64(1) << exponent
	if n == floor {
		return n
	}
	step := floor >> (bits.Len64(uint64(divisions)) - 1)
	if step == 0 {
		return floor << 1
	}
	return roundTo(n, step)
}

func roundTo(n, step int64) int64 { return (n + step - 1) / step * step }
