package dry

import "github.com/memtop/memtop/engine/device"

// Name names an operation.
type Name uint8

// The operations that take time.
const (
	MatMul Name = iota
	Conv
	ConvBackward
	Attention
	AttentionBackward
	Crossing // between the device and the host
	Update
	Cast
	Copy
	CopyStrided
	Fill
	Unary
	UnaryBackward
	Binary
	AddScaled
	Scale
	ScaleBy
	Reduce
	Norm2
	AddSquares
	Dropout
	DropoutBackward
	Normalize
	NormalizeBackward
	Softmax
	SoftmaxBackward
	CrossEntropy
	CrossEntropyBackward
	CrossEntropyBoth
	Gather
	ScatterAdd
	Unscale
	Names = int(iota)
)

// IsProduct reports whether the operation multiplies matrices.
func (n Name) IsProduct() bool { return n <= AttentionBackward }

// Op describes an operation by everything that its time depends on: equal ones take
// the same time on one device.
type Op struct {
	Name     Name
	Which    uint8  // its function, rule or kind
	Flags    uint8  // of a product: what else it does
	Types    uint64 // of the operands, four bits each, 0 for one that is absent
	Shape    [4]int
	Products int64 // multiplications
	Elements int64 // of the largest operand, or of a whole list
	Bytes    int64 // of the operands
}

// The flags of a product.
const (
	TransA uint8 = 1 << iota
	TransB
	Activated
	Slope
	Sums // of the rows of A
	Biased
	Added // to what C held
	Kept  // the value before the activation
)

// over is the operation that reads or writes all of these operands.
func (op Op) over(arrays ...device.Array) Op {
	for _, a := range arrays {
		op.Types <<= 4
		if !a.Absent() || a.Len > 0 {
			op.Types |= uint64(a.DType) + 1
		}
		op.Elements = max(op.Elements, int64(a.Len))
		op.Bytes += int64(a.Len) * a.DType.Size()
	}
	return op
}

// overAll is the operation on a list.
func (op Op) overAll(list []device.Array) Op {
	op.Shape[0] = len(list)
	for _, a := range list {
		op.Types = uint64(a.DType) + 1
		op.Elements += int64(a.Len)
		op.Bytes += int64(a.Len) * a.DType.Size()
	}
	return op
}

// Halves returns how many operands have two bytes an element.
func (op *Op) Halves() (n int) {
	for types := op.Types; types != 0; types >>= 4 {
		if t := types & 15; t != 0 && device.DType(t-1).IsFloat() && device.DType(t-1).Size() == 2 {
			n++
		}
	}
	return n
}

func product(p *device.MatMulPlan) Op {
	op := Op{
		Name: MatMul, Which: uint8(p.Activation), Shape: [4]int{p.M, p.N, p.K, p.Batch},
		Products: int64(p.M) * int64(p.N) * int64(p.K) * int64(p.Batch),
	}
	for i, is := range []bool{p.TransA, p.TransB, p.Activate, p.Slope, !p.SumA.Absent(), !p.Bias.Absent(), p.Beta != 0, !p.Pre.Absent()} {
		if is {
			op.Flags |= 1 << i
		}
	}
	return op.over(p.A, p.B, p.C)
}

// convolution counts the unfolded images among its bytes.
func convolution(name Name, p *device.ConvPlan, times int64) Op {
	pixels := int64(p.Batch) * int64(p.OutRows) * int64(p.OutColumns)
	op := Op{
		Name: name, Which: uint8(times), Shape: [4]int{p.Batch, p.OutRows * p.OutColumns, p.OutChannels, p.Unfolded},
		Products: times * pixels * int64(p.OutChannels) * int64(p.Unfolded),
	}.over(p.X, p.Weight, p.Y)
	op.Bytes = times * pixels * int64(p.Unfolded) * int64(p.Groups) * 4
	return op
}

// attention counts the products of the pairs that see each other.
func attention(name Name, p *device.AttentionPlan) Op {
	visible := 0
	for q := range p.Queries {
		visible += p.Visible(q)
	}
	return Op{
		Name: name, Which: uint8(p.Kind), Shape: [4]int{p.AllHeads, p.Queries, p.Keys, p.Dim},
		Products: int64(p.AllHeads) * int64(visible) * int64(p.Dim),
	}.over(p.Q.Array, p.K.Array, p.V.Array, p.O.Array)
}

func update(p *device.UpdatePlan) Op {
	op := Op{Name: Update, Which: uint8(p.Rule), Shape: [4]int{len(p.List)}}
	elements := int64(0)
	for i := range p.List {
		x := &p.List[i]
		op.Types = 0
		op = op.over(x.P, x.P, x.G, x.M, x.M, x.V, x.V, x.Low)
		elements += int64(x.P.Len)
	}
	op.Elements = elements
	return op
}
