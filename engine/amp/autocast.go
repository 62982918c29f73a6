package amp

import (
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/device"
)

// Mode is the precision in which operations run.
type Mode uint8

// The modes.
const (
	Off  Mode = iota
	BF16      // autocast to bfloat16
	FP16      // autocast to float16, with a loss scale
)

// Modes returns every mode.
func Modes() []Mode { return []Mode{Off, BF16, FP16} }

// String returns the name that settings use, such as "bf16".
func (m Mode) String() string { return [...]string{Off: "off", BF16: "bf16", FP16: "fp16"}[m] }

// ParseMode is the inverse of Mode.String.
func ParseMode(name string) (Mode, error) {
	return choice.Parse("precision", Modes(), name)
}

// Caster returns what a tape needs for the mode: nil when it is off.
func (m Mode) Caster() autograd.Caster {
	switch m {
	case BF16:
		return Autocast{device.BFloat16}
	case FP16:
		return Autocast{device.Float16}
	case Off:
	}
	return nil
}

// class is what happens to the operands of an operation.
type class uint8

const (
	asGiven class = iota // computed in the types it gets; several are promoted to the widest
	lower                // converted to the lower type
	full                 // converted to float32
)

// policy has the operations that are in one of PyTorch's lists
// (torch.amp, "Op-Specific Behavior" for CUDA). Gradients run in the types of
// the forward operation.
//
// The cross-entropy is in the list of float32, and is not in the table: our
// operation computes in float32 whatever it reads, and its result is float32, so
// that converting the logits first would give the same bits and cost a copy of
// the largest tensor of a language model. [autograd.Tape.CrossEntropyInSteps] has the
// copy that PyTorch makes.
var policy = map[string]class{
	"linear": lower, "matmul": lower, "conv2d": lower, "attention": lower,

	"layer_norm": full, "rms_norm": full, "softmax": full,
	"exp": full, "log": full, "rsqrt": full, "square": full, "sum": full,
}

// Autocast converts the operands of operations by the policy's table. It is an
// [autograd.Caster].
type Autocast struct {
	Lower device.DType // BFloat16 or Float16
}

// Cast looks the operation up. float64 is left alone, for gradient checks.
func (a Autocast) Cast(op string, operands []device.DType) (device.DType, bool) {
	if slices.Contains(operands, device.Float64) {
		return 0, false
	}
	switch policy[op] {
	case lower:
		return a.Lower, true
	case full:
		return device.Float32, true
	case asGiven:
	}
	return 0, false
}
