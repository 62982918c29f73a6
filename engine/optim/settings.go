package optim

import (
	"fmt"
	"slices"
	"strings"
)

// Kind names an optimizer.
type Kind uint8

// The optimizers.
const (
	AdamW Kind = iota
	AdamW8bit
	Adam
	SGD
	Lion
	kindCount
)

var kindNames = [kindCount]string{"adamw", "adamw8bit", "adam", "sgd", "lion"}

// String returns the name that flags and reports use.
func (k Kind) String() string {
	if k >= kindCount {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Kinds returns all optimizers.
func Kinds() []Kind { return []Kind{SGD, Adam, AdamW, AdamW8bit, Lion} }

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, error) {
	if i := slices.Index(kindNames[:], strings.ToLower(name)); i >= 0 {
		return Kind(i), nil
	}
	return 0, fmt.Errorf("there is no optimizer %q: sgd, adam, adamw, adamw8bit and lion are known", name)
}

// Settings are an optimizer and its constants. The learning rate is not among
// them: every step has its own.
type Settings struct {
	Kind         Kind
	WeightDecay  float64
	Beta1, Beta2 float64
	Eps          float64
	Momentum     float64 // of SGD; 0 keeps no state
	Nesterov     bool
}

// Defaults returns the settings that PyTorch, or else the optimizer's own
// publication, would use. SGD has a momentum of 0.9.
func Defaults(k Kind) Settings {
	s := Settings{Kind: k}
	switch k {
	case SGD:
		s.Momentum = 0.9
	case Adam:
		s.Beta1, s.Beta2, s.Eps = 0.9, 0.999, 1e-8
	case AdamW, AdamW8bit:
		s.Beta1, s.Beta2, s.Eps, s.WeightDecay = 0.9, 0.999, 1e-8, 0.01
	case Lion:
		s.Beta1, s.Beta2 = 0.9, 0.99
	default:
		panic(fmt.Sprintf("optim: no optimizer %v", k))
	}
	return s
}

// DefaultLR returns a learning rate that is safe for small models.
func DefaultLR(k Kind) float64 {
	switch k {
	case SGD:
		return 0.05
	case Lion:
		return 1e-4
	default:
		return 1e-3
	}
}
