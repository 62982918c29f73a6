package train

import (
	"math"
	"time"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
)

// # Times of operations
//
// An operation that some step has done takes the time that was measured. One that
// none has done yet, such as a product of fewer rows or another optimizer's update,
// takes what the nearest known one does, times the ratio of what both should take on
// one core of the processor of the table below. So only ratios within the table
// count: it serves on faster and slower processors of the same make. It was made
// from the least times of 215 settings of five models.

// perElement is how long an element of an operation's largest operand takes, in
// nanoseconds, where all operands are float32. An operand of two bytes adds perHalf.
var perElement = [dry.Names]float64{
	dry.Cast: 0.035, dry.CopyStrided: 1.1, dry.Fill: 0.045, dry.Unary: 0.09, dry.UnaryBackward: 0.14, dry.Binary: 0.13,
	dry.AddScaled: 0.09, dry.Scale: 0.055, dry.ScaleBy: 0.055, dry.Reduce: 1, dry.Norm2: 0.12, dry.AddSquares: 0.12, dry.Dropout: 5.4, dry.DropoutBackward: 0.3,
	dry.Normalize: 0.9, dry.NormalizeBackward: 1.4, dry.Softmax: 1, dry.SoftmaxBackward: 0.4, dry.CrossEntropy: 0.9, dry.CrossEntropyBackward: 0.6, dry.CrossEntropyBoth: 1.5,
	dry.Gather: 0.17, dry.ScatterAdd: 0.8, dry.Unscale: 0.18,
}

const (
	perHalf    = 0.08
	perCall    = 150.0 // of any operation
	perWeight  = 0.11  // an element of a product's operands is put where the products find it
	perProduct = 0.0165
	transcend  = 0.9      // an element of a function with an exponential
	onePart    = 32 << 10 // elements that one core computes at least
)

// perParameter is an element of an optimizer's update.
var perParameter = map[device.Rule]float64{device.SGD: 1.4, device.Adam: 0.6, device.AdamW: 0.6, device.Lion: 6.6, device.AdamW8: 7}

// perScore is a product of attention's gradients. Kinds that did not keep the
// probabilities compute them again.
var perScore = map[device.AttentionKind]float64{device.Naive: 0.65, device.Chunked: 0.95, device.Flash: 0.9}

// likely is how long an operation should take on so many cores, in nanoseconds.
func likely(op *dry.Op, threads int) float64 {
	n, halves := float64(op.Elements), float64(op.Halves())
	slower := 1 + 0.17*math.Min(halves, 1)
	cores := float64(threads)
	switch op.Name {
	case dry.MatMul:
		return perCall + multiplied(op)/cores
	case dry.Conv, dry.ConvBackward:
		return perCall + slower*float64(op.Products)*0.045/cores
	case dry.Attention:
		return perCall + slower*float64(op.Products)*0.35/cores
	case dry.AttentionBackward:
		return perCall + slower*float64(op.Products)*perScore[device.AttentionKind(op.Which)]/cores
	case dry.Update:
		return perCall*float64(1+op.Shape[0]) + n*perParameter[device.Rule(op.Which)]/cores
	case dry.Crossing, dry.Copy:
		return perCall/3 + 0.025*float64(op.Bytes)
	}
	each := perElement[op.Name] + perHalf*halves
	if op.Name == dry.Unary || op.Name == dry.UnaryBackward {
		each += bend(device.UnaryOp(op.Which))
	}
	if op.Name == dry.CrossEntropy || op.Name == dry.CrossEntropyBackward || op.Name == dry.CrossEntropyBoth {
		n += 90 * float64(op.Shape[0]) // a row costs as much as many classes
	}
	return perCall + n*each/min(cores, math.Ceil(n/onePart))
}

// multiplied is the work of a product: whole tiles, what brings their operands, and
// what is done to the result.
func multiplied(op *dry.Op) float64 {
	rows, cols, deep := float64(op.Shape[0]), float64(op.Shape[1]), float64(op.Shape[2])
	const tileRows, tileCols = 12, 32
	products := math.Ceil(rows/tileRows) * tileRows * math.Ceil(cols/tileCols) * tileCols * deep * perProduct
	if op.Types>>4 == uint64(device.BFloat16+1)<<4|uint64(device.BFloat16+1) {
		products /= 2 // two are multiplied at a time
	}
	each := 0.1
	if op.Halves() > 0 {
		each *= 2
	}
	if op.Flags&dry.Activated != 0 {
		each += bend(device.UnaryOp(op.Which))
	}
	return (products + perWeight*deep*(rows+cols) + each*rows*cols) * float64(op.Shape[3])
}

// bend is what a function takes more than a linear one.
func bend(f device.UnaryOp) float64 {
	switch f {
	case device.ReLU, device.Neg, device.Abs, device.Square:
		return 0
	}
	return transcend
}

// measuredSteps is the number of steps from which times are taken: the last.
const measuredSteps = 15

// recent are the last values of something, in nanoseconds.
type recent []float64

func (r *recent) add(value float64) {
	if len(*r) == measuredSteps {
		copy(*r, (*r)[1:])
		*r = (*r)[:measuredSteps-1]
	}
	*r = append(*r, value)
}

// mostOps bounds the operations whose times are kept. A run whose batches have ever
// other shapes begins anew.
const mostOps = 4096

// opTimes are the measured times of operations.
type opTimes map[dry.Op]*recent

func (o opTimes) note(ops dry.Ops) (sum time.Duration) {
	if len(o) > mostOps {
		clear(o)
	}
	for op, spent := range ops {
		if o[op] == nil {
			o[op] = new(recent)
		}
		o[op].add(float64(spent.Took) / float64(spent.Times))
		sum += spent.Took
	}
	return sum
}
