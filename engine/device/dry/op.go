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
)

// IsProduct reports whether the operation multiplies matrices.
func (n Name) IsProduct() bool { return n <= AttentionBackward }

// Op describes an operation: what it takes on a processor follows from it.
type Op struct {
	Name     Name
	Products int64 // multiplications
	Bytes    int64 // of the operands
}

// over is the operation that reads or writes all of these operands.
func (op Op) over(arrays ...device.Array) Op {
	for _, a := range arrays {
		op.Bytes += int64(a.Len) * a.DType.Size()
	}
	return op
}

func product(p *device.MatMulPlan) Op {
	return Op{Name: MatMul, Products: int64(p.M) * int64(p.N) * int64(p.K) * int64(p.Batch)}.over(p.A, p.B, p.C)
}

// convolution counts the unfolded images among its bytes.
func convolution(name Name, p *device.ConvPlan, times int64) Op {
	unfolded := times * int64(p.Batch) * int64(p.OutRows) * int64(p.OutColumns) * int64(p.Unfolded)
	return Op{Name: name, Products: unfolded * int64(p.OutChannels), Bytes: unfolded * int64(p.Groups) * 4}
}

// attention counts the products of the pairs that see each other.
func attention(name Name, p *device.AttentionPlan) Op {
	visible := 0
	for q := range p.Queries {
		visible += p.Visible(q)
	}
	return Op{Name: name, Products: int64(p.AllHeads) * int64(visible) * int64(p.Dim)}.over(p.Q.Array, p.K.Array, p.V.Array, p.O.Array)
}

func update(p *device.UpdatePlan) Op {
	op := Op{Name: Update}
	for i := range p.List {
		x := &p.List[i]
		op = op.over(x.P, x.P, x.G, x.M, x.M, x.V, x.V, x.Low)
	}
	return op
}
