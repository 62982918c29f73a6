package optim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/memtop/memtop/engine/choice"
)

// Schedule says how the learning rate changes during training. The zero value
// keeps it as it is.
type Schedule struct {
	// Warmup is the number of steps in which the rate grows evenly; the last of
	// them has the full rate.
	Warmup int
	// Shape is its curve after that. Cosine ends at Floor of the full rate, at step
	// Total and beyond.
	Shape Shape
	Total int
	Floor float64
}

// Shape is the shape of the learning-rate curve after warmup.
type Shape uint8

// The shapes.
const (
	Constant Shape = iota
	Cosine         // falls along half a wave
)

// Shapes returns every shape.
func Shapes() []Shape { return []Shape{Constant, Cosine} }

// String returns the name that settings use, such as "cosine".
func (s Shape) String() string { return [...]string{Constant: "constant", Cosine: "cosine"}[s] }

// Factor returns what to multiply the learning rate by in step number step,
// counted from 0.
func (s Schedule) Factor(step int) float64 {
	switch {
	case step < s.Warmup:
		return float64(step+1) / float64(s.Warmup)
	case s.Shape == Constant:
		return 1
	case step >= s.Total:
		return s.Floor
	}
	part := float64(step-s.Warmup) / float64(s.Total-s.Warmup)
	return s.Floor + (1-s.Floor)*(1+math.Cos(math.Pi*part))/2
}

// ParseSchedule reads the name of a shape, then ",warmup=STEPS" and, for cosine,
// ",floor=FRACTION" if wanted. total is the length of the run in steps.
func ParseSchedule(text string, total int) (Schedule, error) {
	parts := strings.Split(text, ",")
	shape, ok := choice.Find(Shapes(), parts[0])
	s := Schedule{Shape: shape, Total: total}
	if !ok {
		return s, fmt.Errorf("there is no schedule %q: %s are known", parts[0], choice.And(Shapes()))
	}
	for _, part := range parts[1:] {
		if err := s.set(part); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Schedule) set(part string) (err error) {
	key, value, _ := strings.Cut(part, "=")
	switch key {
	case "warmup":
		s.Warmup, err = strconv.Atoi(value)
		if err != nil || s.Warmup < 0 {
			return fmt.Errorf("warmup=%s: write a number of steps", value)
		}
	case "floor":
		s.Floor, err = strconv.ParseFloat(value, 64)
		if err != nil || !(s.Floor >= 0 && s.Floor <= 1) {
			return fmt.Errorf("floor=%s: write a part of the learning rate, 0 to 1", value)
		}
	default:
		return fmt.Errorf("a schedule has no %q: warmup=STEPS and floor=FRACTION are known", key)
	}
	return nil
}

// String returns the text that ParseSchedule reads.
func (s Schedule) String() string {
	text := s.Shape.String()
	if s.Warmup > 0 {
		text += fmt.Sprintf(",warmup=%d", s.Warmup)
	}
	if s.Shape == Cosine && s.Floor > 0 {
		text += fmt.Sprintf(",floor=%g", s.Floor)
	}
	return text
}
