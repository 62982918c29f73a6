package nn

import (
	"fmt"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/choice"
)

// LossMemory selects the tensors that the cross-entropy keeps for the backward
// pass. The loss and its gradients do not depend on it.
type LossMemory uint8

// The ways. The zero value takes the least memory.
const (
	LeanLoss    LossMemory = iota // the logits, as they are
	PyTorchLoss                   // their log-softmax, see [autograd.Tape.CrossEntropyInSteps]
)

// LossMemories returns both.
func LossMemories() []LossMemory { return []LossMemory{LeanLoss, PyTorchLoss} }

// String returns the name that settings use, such as "lean".
func (m LossMemory) String() string { return [...]string{LeanLoss: "lean", PyTorchLoss: "pytorch"}[m] }

// ParseLossMemory is the inverse of LossMemory.String.
func ParseLossMemory(name string) (LossMemory, error) {
	return choice.Parse("loss", LossMemories(), name)
}

// CrossEntropy runs the tape's cross-entropy with the LossMemory of the options.
func (c *Ctx) CrossEntropy(logits, targets *autograd.Value) *autograd.Value {
	if c.LossMemory == PyTorchLoss {
		return c.CrossEntropyInSteps(logits, targets)
	}
	return c.Tape.CrossEntropy(logits, targets)
}

// CrossEntropy is the mean over rows of −ln softmax(logits)[target], without
// the rows whose target is autograd.IgnoreIndex.
type CrossEntropy struct{ stateless }

// Forward takes logits, [..., Classes], and targets of the leading dimensions,
// and returns one number.
func (l *CrossEntropy) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	if len(in) != 2 {
		panic(fmt.Sprintf("nn: CrossEntropy takes logits and targets, got %d inputs", len(in)))
	}
	return c.CrossEntropy(in[0], in[1])
}

// Function is a module without parameters, such as a loss that the caller writes.
type Function struct {
	leaf
	forward func(c *Ctx, in ...*autograd.Value) *autograd.Value
}

// NewFunction makes a module of a function, which calls other modules by Ctx.Call
// only. The module may be called by several goroutines at once if the function may.
func NewFunction(forward func(c *Ctx, in ...*autograd.Value) *autograd.Value) *Function {
	return &Function{forward: forward}
}

// Params returns nothing.
func (f *Function) Params() []*Param { return nil }

// Forward calls the function.
func (f *Function) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return f.forward(c, in...)
}
