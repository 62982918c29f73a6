package trace

import (
	"math"
	"math/bits"
	"strconv"
)

// Sizes of PyTorch's allocator that its settings do not change, in bytes.
const (
	MinBlock     = 512
	SmallLimit   = 1 << 20 // the largest block of the small pool, and the largest rest left uncut
	SmallSegment = 2 << 20 // a segment of the small pool
)

// Rounding holds the rules that an allocator's settings give for the sizes of
// blocks. A trace has the requested sizes, not the sizes of the blocks. PyTorch
// rounds a request up to a multiple of 512 bytes or, if its settings say so, to
// one of some divisions of a power of two. In a large pool, a block also gets the
// rest of the free block if that rest is at most 1 MiB.
type Rounding struct {
	// MaxSplit is a limit: blocks of this size or larger are never cut. 0 is no
	// limit.
	MaxSplit int64
	// Expandable says that new segments are expandable. In those, large blocks
	// are cut like small ones.
	Expandable bool
	// Uncached says that there is no caching allocator, see "Without a caching
	// allocator".
	Uncached bool
	// Collects says that segments may go back at a threshold, before the driver
	// refuses any.
	Collects  bool
	divisions [16]int64 // by power of two from 1 MiB on
}

// NewRounding returns the rounding of an allocator with those settings.
func NewRounding(settings []Setting) Rounding {
	var r Rounding
	for _, s := range settings {
		switch s.Key {
		case "max_split_size":
			if v, ok := s.Value.(int64); ok && v > 0 {
				r.MaxSplit = v
			}
		case "expandable_segments":
			r.Expandable, _ = s.Value.(bool)
		case "garbage_collection_threshold":
			threshold, _ := s.Value.(float64)
			r.Collects = threshold > 0
		case "roundup_power2_divisions":
			r.setDivisions(s.Value)
		case "allocator":
			r.Uncached = s.Value == "none"
		}
	}
	return r
}

func (r *Rounding) setDivisions(value any) {
	switch v := value.(type) {
	case int64:
		for i := range r.divisions {
			r.divisions[i] = v
		}
	case []any:
		for i := range min(len(v), len(r.divisions)) {
			r.divisions[i], _ = v[i].(int64)
		}
	case []Setting:
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

// Round returns the bytes of the block that serves a request of n bytes, without
// a rest that is too small to be cut off.
func (r *Rounding) Round(n int64) int64 {
	switch {
	case r.Uncached:
		return n
	case n < MinBlock:
		return MinBlock
	case n > math.MaxInt64/4:
		return n // a damaged trace; the sum must not overflow
	}
	exponent := bits.Len64(uint64(n)) - 1
	d := r.divisions[max(0, min(exponent-20, len(r.divisions)-1))]
	if d > 1 && n > MinBlock*d {
		return roundPower2(n, d, exponent)
	}
	return (n + MinBlock - 1) / MinBlock * MinBlock
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
	return (n + step - 1) / step * step
}

// Cuts reports whether the allocator cuts off the rest of a free block that
// serves a request of rounded bytes.
func (r *Rounding) Cuts(small, expandable bool, rounded, rest int64) bool {
	if small || expandable || r.Expandable {
		return rest >= MinBlock
	}
	return rest > SmallLimit && (r.MaxSplit == 0 || rounded < r.MaxSplit)
}
