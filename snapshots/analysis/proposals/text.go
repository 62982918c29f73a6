package proposals

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Why names the basis of a prediction.
func (o *Proposal) Why() string {
	text := "rehearsed by the program: the peak"
	if a := -o.Predicted.Activation; a > 0 {
		text += " with " + quantity.Bytes(a) + " of activations less"
	}
	return text
}

// ShareText writes a part of a whole in per cent, with its sign. It returns "" if
// the part is 0 or the whole is not known.
func ShareText(part, whole int64) string {
	if whole <= 0 || part == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*float64(part)/float64(whole))
}

// RoomText says how many samples fit.
func RoomText(h *trace.Headroom) string {
	text := quantity.Plural(h.Most, "sample")
	if h.Parts > 1 {
		text += fmt.Sprintf(" in each of %d parts", h.Parts)
	}
	if h.Most == 1 {
		text += " fits into " + quantity.Bytes(h.Capacity)
	} else {
		text += " fit into " + quantity.Bytes(h.Capacity)
	}
	return text + fmt.Sprintf("; a step takes %s and %s for each sample, %d run at a time now",
		quantity.Bytes(h.Fixed), quantity.Bytes(h.PerSample), h.Samples)
}
