package device

import "fmt"

// CrossEntropy describes the loss of Rows predictions among Classes classes.
//
// Logits are [Rows, Classes]; Targets [Rows], Int32 or Int64, each a class or
// IgnoreIndex (PyTorch's default is −100; rows so marked count for nothing).
// LSE is [Rows] and Loss and Count one element each, float32 (float64 when
// Logits are). The forward operation writes LSE, Loss and Count; the backward
// one reads LSE and Count.
type CrossEntropy struct {
	Rows, Classes int
	IgnoreIndex   int64
	// Stride is the number of elements from one row of logits to the next, 0 for
	// Classes. Elements between rows are ignored; gradients have the same stride,
	// and zeros there.
	Stride  int
	Logits  Array
	Targets Array
	LSE     Array // log Σ e^logit of every row
	Loss    Array
	Count   Array // rows that are not ignored
}

// RowStride returns the elements from one row to the next. It panics when rows
// overlap.
func (c *CrossEntropy) RowStride() int {
	if c.Stride == 0 {
		return c.Classes
	}
	if c.Stride < c.Classes {
		panic(fmt.Sprintf("device: cross entropy: rows of %d classes, %d apart", c.Classes, c.Stride))
	}
	return c.Stride
}

// Check panics unless the arrays are of the types and sizes that go together.
func (c *CrossEntropy) Check(operation string) {
	CheckFloat(operation, c.Logits.DType)
	CheckIndex(operation, c.Targets.DType)
	for _, a := range [...]Array{c.LSE, c.Loss, c.Count} {
		if a.DType != ComputeType(c.Logits.DType) {
			panic(fmt.Sprintf("device: %s: loss, lse or count of %v for logits of %v", operation, a.DType, c.Logits.DType))
		}
	}
	CheckLen(operation, "logits", c.Logits, c.Rows*c.RowStride())
	CheckLen(operation, "targets", c.Targets, c.Rows)
	CheckLen(operation, "lse", c.LSE, c.Rows)
	CheckLen(operation, "count", c.Count, 1)
}

// Losses has the operations that turn predictions into one number.
type Losses interface {
	// CrossEntropy sets Loss to the mean over counted rows of lse − logit of
	// the target: 0/0 = NaN when every row is ignored, as PyTorch's is. A
	// target that is no class and not IgnoreIndex is a failure of the queue.
	CrossEntropy(c CrossEntropy)
	// CrossEntropyBackward sets dlogits, which lie as Logits do, to
	// (e^(logit−lse) − [class is the target]) · dloss / Count, and 0 in ignored
	// rows and between rows. dloss is one element. dlogits may be Logits.
	CrossEntropyBackward(dlogits Array, c CrossEntropy, dloss Array)
	// CrossEntropyBoth is CrossEntropy and then CrossEntropyBackward, with the same
	// bits, but need not read the logits twice.
	CrossEntropyBoth(dlogits Array, c CrossEntropy, dloss Array)
}

// Lookups has the operations that read and write rows by number.
type Lookups interface {
	// Gather sets row i of dst to row ids[i] of table: dst is [ids.Len, cols],
	// table [rows, cols], ids Int32 or Int64. dst and table are of one type. An
	// id outside of [0, rows) is a failure of the queue.
	Gather(dst, table, ids Array, rows, cols int)
	// ScatterAdd adds to row k of table the sum of the rows i of src with ids[i] = k,
	// summed in the order of i: the gradient of Gather. It gives the bits of adding to
	// zeros, and that to table. Types may differ.
	ScatterAdd(table, src, ids Array, rows, cols int)
}
