package optim

import (
	"fmt"
	"strings"

	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/device"
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
)

// kinds are the optimizers: their names, the device's rules, the roles of what
// they remember, learning rates that are safe for small models, and the settings
// that PyTorch, or else the optimizer's own publication, would use.
var kinds = [...]struct {
	name     string
	rule     device.Rule
	first    string // the role of the first moment
	lr       float64
	defaults Settings
}{
	AdamW:     {"adamw", device.AdamW, roleM, 1e-3, Settings{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01}},
	AdamW8bit: {"adamw8bit", device.AdamW8, roleM, 1e-3, Settings{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01}},
	Adam:      {"adam", device.Adam, roleM, 1e-3, Settings{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}},
	SGD:       {"sgd", device.SGD, roleMomentum, 0.05, Settings{Momentum: 0.9}},
	Lion:      {"lion", device.Lion, roleM, 1e-4, Settings{Beta1: 0.9, Beta2: 0.99}},
}

// String returns the name that flags and reports use.
func (k Kind) String() string { return kinds[k].name }

// Kinds returns all optimizers, in the order in which they are offered.
func Kinds() []Kind { return []Kind{SGD, Adam, AdamW, AdamW8bit, Lion} }

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, error) {
	if k, ok := choice.Find(Kinds(), strings.ToLower(name)); ok {
		return k, nil
	}
	return 0, fmt.Errorf("there is no optimizer %q: %s are known", name, choice.And(Kinds()))
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
	// NoMainCopies updates half-precision parameters directly, with moments of their
	// own type, as PyTorch does. Otherwise the optimizer updates a float32 copy of
	// each, and rounds it.
	NoMainCopies bool
}

// Defaults returns the default settings of an optimizer.
func Defaults(k Kind) Settings {
	s := kinds[k].defaults
	s.Kind = k
	return s
}

// DefaultLR returns a learning rate that is safe for small models.
func DefaultLR(k Kind) float64 { return kinds[k].lr }

// Rule returns the device's rule.
func (k Kind) Rule() device.Rule { return kinds[k].rule }

// rule returns the device's rule for a parameter of that many elements.
func (s *Settings) rule(elements int) device.Rule {
	rule := s.Kind.Rule()
	if rule.InBytes() && elements < min8bit {
		return device.AdamW
	}
	return rule
}

// constants returns an update that has the settings.
func (s *Settings) constants() device.Update {
	return device.Update{
		WeightDecay: s.WeightDecay, Beta1: s.Beta1, Beta2: s.Beta2, Eps: s.Eps, Momentum: s.Momentum, Nesterov: s.Nesterov,
	}
}
