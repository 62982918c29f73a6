package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Keep reports for a selective checkpoint whether the results of an operation are
// kept until the backward pass instead of being computed again. It gets the
// operation's name, such as "linear", and the path of the module that runs it. It
// must always give the same answer.
type Keep func(op, layer string) bool

// Operations returns the names of all operations whose results can be kept, in
// alphabetical order.
func Operations() []string {
	list := []string{
		"add", "attention", "cast", "concat", "contiguous", "conv2d", "cross_entropy", "div", "dropout", "embedding",
		"layer_norm", "linear", "log_softmax", "matmul", "mean", "mul", "rms_norm", "scale", "softmax", "sub", "sum",
	}
	for _, f := range device.UnaryOps() {
		list = append(list, f.String())
	}
	slices.Sort(list)
	return list
}

// keeper holds the results of one selective checkpoint: it collects the results
// that the rule keeps, and later returns them in the same order.
type keeper struct {
	rule  Keep
	kept  []*tensor.Tensor // handles of the checkpoint's
	again bool             // the recomputation runs
	at    int
}

// keep takes a handle on a fresh result of the operation under way if the rule
// wants it kept.
func (t *Tape) keep(op string, x *tensor.Tensor) {
	if k := t.keeper; k != nil && !k.again && k.rule(op, t.layer) {
		k.kept = append(k.kept, x.Retain())
		t.retag(x)
	}
}

// replays says whether the results of an operation are there already.
func (k *keeper) replays(op, layer string) bool {
	return k != nil && k.again && k.rule(op, layer)
}

// next returns a new handle on the next kept result.
func (k *keeper) next() *tensor.Tensor {
	k.at++
	return k.kept[k.at-1].Retain()
}

func (k *keeper) release() {
	if k == nil {
		return
	}
	for _, x := range k.kept {
		x.Release()
	}
	k.kept = nil
}
