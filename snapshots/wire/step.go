package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// step is a step in JSON. Its loss replaces the one of trace.Step: JSON needs a
// text for a loss that is NaN or infinite, and an unknown loss is left out.
type step struct {
	*trace.Step
	Loss loss `json:"loss,omitzero"`
}

func jsonOf(s *trace.Step) *step { return &step{s, loss{s}} }

// loss is the loss of a step in JSON. It is no pointer, because decoding null
// would not change a pointer's old value.
type loss struct{ of *trace.Step }

// IsZero reports whether the loss is unknown.
func (l loss) IsZero() bool { return l.of.NoLoss }

// MarshalJSON writes the loss as a Float.
func (l loss) MarshalJSON() ([]byte, error) { return Float(l.of.Loss).MarshalJSON() }

// UnmarshalJSON reads the loss as a Float.
func (l *loss) UnmarshalJSON(text []byte) error {
	l.of.NoLoss = false
	return (*Float)(&l.of.Loss).UnmarshalJSON(text)
}

// Float is a number in JSON that may be NaN or infinite.
type Float float64

// MarshalJSON writes a number, or "NaN", "+Inf" or "-Inf".
func (f Float) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return appendFloat(nil, v), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil {
		switch word {
		case "NaN", "+Inf", "-Inf":
			v, err := strconv.ParseFloat(word, 64)
			*f = Float(v)
			return err
		}
		return fmt.Errorf("%.20q is not a number", word)
	}
	return json.Unmarshal(text, (*float64)(f))
}
