package kernels

import "github.com/memtop/memtop/engine/device"

type entropyArgs struct {
	Logits, Targets, LSE, Loss, Count, DLogits, DLoss device.Array
	Rows, Classes, Stride, Ignored                    int64
	Failure, Picked                                   uint64
}

// manyClasses is how many classes have more threads than other rows have elements: so
// the rows that are under way at the same time fit into a GPU's second cache, from
// which entropy_both reads them again.
const manyClasses = 16384

func entropyThreads(classes int) uint32 {
	if classes >= manyClasses {
		return 1024
	}
	return rowThreads(classes)
}

// CrossEntropy implements device.Losses.
func (c *Compute) CrossEntropy(x device.CrossEntropy) {
	a := c.newEntropy("cross entropy", x)
	if x.Classes > 0 {
		launch(c, Entropy, line(x.Rows), entropyThreads(x.Classes), 0, a)
	}
	launch(c, EntropyMean, line(1), blockThreads, 0, a)
}

// CrossEntropyBackward implements device.Losses.
func (c *Compute) CrossEntropyBackward(dlogits device.Array, x device.CrossEntropy, dloss device.Array) {
	a := c.newEntropyBackward("cross entropy backward", dlogits, x, dloss)
	if x.Classes > 0 {
		launch(c, EntropyBackward, line(x.Rows), entropyThreads(x.Classes), 0, a)
	}
}

// CrossEntropyBoth implements device.Losses.
func (c *Compute) CrossEntropyBoth(dlogits device.Array, x device.CrossEntropy, dloss device.Array) {
	a := c.newEntropyBackward("cross entropy", dlogits, x, dloss)
	if x.Classes == 0 || x.Rows*8 > ScratchBytes {
		c.CrossEntropy(x)
		c.CrossEntropyBackward(dlogits, x, dloss)
		return
	}
	a.Picked = c.scratch.Addr
	launch(c, EntropyCount, line(1), blockThreads, 0, a)
	launch(c, EntropyBoth, line(x.Rows), entropyThreads(x.Classes), 0, a)
	launch(c, EntropyMean, line(1), blockThreads, 0, a)
}

func (c *Compute) newEntropyBackward(name string, dlogits device.Array, x device.CrossEntropy, dloss device.Array) entropyArgs {
	a := c.newEntropy(name, x)
	checkTypes(name, dlogits.DType, dloss.DType)
	device.CheckLen(name, "dlogits", dlogits, x.Rows*x.RowStride())
	device.CheckLen(name, "dloss", dloss, 1)
	a.DLogits, a.DLoss = dlogits, dloss
	return a
}

func (c *Compute) newEntropy(name string, x device.CrossEntropy) entropyArgs {
	checkTypes(name, x.Logits.DType)
	x.Check(name)
	return entropyArgs{
		Logits: x.Logits, Targets: x.Targets, LSE: x.LSE, Loss: x.Loss, Count: x.Count, Rows: int64(x.Rows),
		Classes: int64(x.Classes), Stride: int64(x.RowStride()), Ignored: x.IgnoreIndex, Failure: c.failure,
	}
}
