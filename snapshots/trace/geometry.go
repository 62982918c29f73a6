package trace

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Sizes of PyTorch's allocator that its settings do not change, in bytes.
const (
	MinBlock     = 512
	SmallLimit   = 1 << 20 // the largest block of the small pool, and the largest rest left uncut
	SmallSegment = 2 << 20 // a segment of the small pool, or a page of an expandable one
	MaxRequest   = 1 << 60 // requests of this size or larger are refused without a try

	largeSegment = 20 << 20 // a segment that large requests share, unless the settings give another size
	ownSegment   = 10 << 20 // from here on a request gets a segment of its own
	ownUnit      = 2 << 20  // such segments are multiples of it
)

// NoMaxSplit is the MaxSplit of an allocator that cuts blocks of any size.
const NoMaxSplit = math.MaxInt64

// Geometry holds the allocator's rules for the sizes of blocks and segments, as its
// settings give them. [NewGeometry] makes one; the zero value is of no use.
//
// PyTorch rounds a request up to a multiple of 512 bytes or, if its settings say so,
// to one of some divisions of a power of two. In a large pool, a block also gets the
// rest of the free block if that rest is at most 1 MiB. If no free block serves a
// request, the allocator asks the driver for a segment or, if segments are
// expandable, for whole pages.
type Geometry struct {
	// MaxSplit is a limit: blocks of this size or larger are never cut.
	MaxSplit int64
	// LargeSegment is the size of a segment that large requests share, and of a page of
	// a large expandable segment.
	LargeSegment int64
	// Divisions of the powers of two from 1 MiB on; those of 1 MiB hold for smaller
	// sizes too, the last ones for larger sizes.
	Divisions [16]int64
	// Expandable says that new segments are expandable. Large blocks are then cut like
	// small ones.
	Expandable bool
	// Uncached says that there is no caching allocator, see "Without a caching
	// allocator".
	Uncached bool
}

// NewGeometry returns the geometry of an allocator with the settings of a trace.
func NewGeometry(settings []Setting) Geometry {
	g := Geometry{MaxSplit: NoMaxSplit, LargeSegment: largeSegment}
	for _, s := range settings {
		switch s.Key {
		case "max_split_size":
			if v, ok := s.Value.(int64); ok && v > 0 {
				g.MaxSplit = v
			}
		case "expandable_segments":
			g.Expandable, _ = s.Value.(bool)
		case "roundup_power2_divisions":
			g.setDivisions(s.Value)
		case "allocator":
			g.Uncached = s.Value == "none"
		}
	}
	for setting := range strings.SplitSeq(strings.ReplaceAll(SettingsText(settings), " ", ""), ",") {
		if text, ok := strings.CutPrefix(setting, "large_segment_size_mb:"); ok {
			if mebibytes, err := strconv.ParseInt(text, 10, 32); err == nil && mebibytes<<20 >= ownSegment {
				g.LargeSegment = mebibytes << 20
			}
		}
	}
	return g
}

// textKeys are the settings that hold the text of all of them, by the names that
// the versions of PyTorch have for it.
var textKeys = []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"}

// SettingsText returns the text by which a program set its allocator, "" for none.
func SettingsText(settings []Setting) string {
	for _, s := range settings {
		if text, ok := s.Value.(string); ok && text != "" && slices.Contains(textKeys, s.Key) {
			return text
		}
	}
	return ""
}

func (g *Geometry) setDivisions(value any) {
	switch v := value.(type) {
	case int64:
		for i := range g.Divisions {
			g.Divisions[i] = v
		}
	case []any:
		for i := range min(len(v), len(g.Divisions)) {
			g.Divisions[i], _ = v[i].(int64)
		}
	case []Setting:
		for _, s := range v {
			mebibytes, err := strconv.ParseUint(s.Key, 10, 32)
			if n, ok := s.Value.(int64); ok && err == nil && mebibytes > 0 {
				g.Divisions[min(bits.Len64(mebibytes), len(g.Divisions))-1] = n
			}
		}
	}
}

// Round returns the bytes of the block that serves a request of n bytes, without
// a rest that is too small to be cut off.
func (g *Geometry) Round(n int64) int64 {
	switch {
	case g.Uncached || n >= MaxRequest: // only a damaged trace has so large a request
		return n
	case n < MinBlock:
		return MinBlock
	}
	d := g.Divisions[min(bits.Len64(uint64(n)>>20|1), len(g.Divisions))-1]
	if d > 1 && n > MinBlock*d {
		return roundPower2(n, d)
	}
	return (n + MinBlock - 1) &^ (MinBlock - 1)
}

// roundPower2 rounds n up to a part of the power of two below it.
func roundPower2(n, divisions int64) int64 {
	floor := int64(1) << (bits.Len64(uint64(n)) - 1)
	if n == floor {
		return n
	}
	step := floor >> (bits.Len64(uint64(divisions)) - 1)
	if step == 0 {
		return floor << 1
	}
	return (n + step - 1) &^ (step - 1)
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// Cuts reports whether the allocator cuts off the rest of a free block that serves
// a request of rounded bytes. It cuts finely in small pools and in expandable
// segments.
func (g *Geometry) Cuts(fine bool, rounded, rest int64) bool {
	if fine {
		return rest >= MinBlock
	}
	return rest > SmallLimit && rounded < g.MaxSplit
}

// SegmentSize returns the size of a new segment for a request of rounded bytes,
// unless segments are expandable. Small requests share segments.
func (g *Geometry) SegmentSize(rounded int64) int64 {
	switch {
	case rounded <= SmallLimit:
		return SmallSegment
	case rounded < ownSegment:
		return g.LargeSegment
	default:
		return roundUp(rounded, ownUnit)
	}
}

// Page returns the unit in which expandable segments of the small or the large pool
// grow and shrink.
func (g *Geometry) Page(small bool) int64 {
	if small {
		return SmallSegment
	}
	return g.LargeSegment
}

// DriverRequest returns how many bytes the allocator asks of the driver for a
// request of rounded bytes that no free block serves: a new segment, or whole pages
// of an expandable one.
func (g *Geometry) DriverRequest(rounded int64) int64 {
	switch {
	case g.Uncached || rounded >= MaxRequest:
		return rounded
	case g.Expandable:
		return roundUp(rounded, g.Page(rounded <= SmallLimit))
	default:
		return g.SegmentSize(rounded)
	}
}

// LargestRequest is the inverse of DriverRequest: the largest request for which the
// allocator asks the driver for at most that many bytes, 0 if there is none.
func (g *Geometry) LargestRequest(bytes int64) int64 {
	unit, least := int64(ownUnit), int64(ownSegment)
	if g.Expandable {
		unit, least = g.LargeSegment, g.LargeSegment
	}
	switch {
	case g.Uncached:
		return bytes
	case bytes >= least:
		return bytes / unit * unit
	case bytes >= SmallSegment:
		return SmallLimit
	default:
		return 0
	}
}
