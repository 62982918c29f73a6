package device

import "fmt"

// Norm describes a normalisation of Rows rows of Cols elements each. X and Y
// are [Rows, Cols]; Weight and Bias, either of which may be absent, [Cols];
// Mean and RStd [Rows], float32 (float64 when X is), written by the forward
// operation and read by the backward one. RMSNorm has no Mean and no Bias.
type Norm struct {
	RMS                bool // RMSNorm, else LayerNorm
	Rows, Cols         int
	Eps                float64
	X, Y, Weight, Bias Array
	Mean, RStd         Array
	// Residual, when given, is added to X first: Sum gets X + Residual, rounded to
	// its type, and Sum is then normalised. Both are [Rows, Cols], and Sum may be X.
	// Residual may have fewer rows, which then repeat.
	Residual, Sum Array
}

// NormBackward describes the gradient of a Norm. DY and DX are [Rows, Cols];
// DWeight and DBias [Cols]. Any of the three outputs may be absent. Outputs are
// overwritten. N's Y and Bias are not read, and its X is what was normalised.
type NormBackward struct {
	N                      Norm
	DY, DX, DWeight, DBias Array
	// Add, when given, is another gradient of x, [Rows, Cols], which is added to dx
	// before dx is stored; it may be DX. Low gets DX again, in its own type.
	Add, Low Array
}

// NormPlan is a checked Norm. That of RMSNorm has no Mean and no Bias.
type NormPlan struct {
	Norm
	Compute DType // Float64 when X is, else Float32
}

// NormBackwardPlan is a checked NormBackward.
type NormBackwardPlan struct {
	NormPlan
	DY, DX, DWeight, DBias Array
	Add, Low               Array
}

// Plan checks n and panics when an operand does not fit.
func (n Norm) Plan() NormPlan {
	const name = "norm"
	CheckFloat(name, n.Y.DType, n.Bias.DType)
	p := n.plan(name)
	CheckLen(name, "y", p.Y, p.Rows*p.Cols)
	CheckOptional(name, "bias", p.Bias, p.Cols)
	if !p.Residual.Absent() {
		CheckFloat(name, p.Residual.DType, p.Sum.DType)
		if n := p.Residual.Len; p.Cols > 0 && (n == 0 || n%p.Cols != 0) || n > 0 && p.Rows*p.Cols%n != 0 {
			panic(fmt.Sprintf("device: %s: a residual of %d elements does not repeat into %d rows of %d", name, n, p.Rows, p.Cols))
		}
		CheckLen(name, "sum", p.Sum, p.Rows*p.Cols)
	}
	return p
}

// plan makes the checks that forward and backward share.
func (n Norm) plan(name string) NormPlan {
	if n.RMS {
		n.Mean, n.Bias = Array{}, Array{}
	}
	p := NormPlan{n, ComputeType(n.X.DType)}
	CheckFloat(name, n.X.DType, n.Weight.DType)
	if n.RStd.DType != p.Compute || !n.RMS && n.Mean.DType != p.Compute {
		panic(fmt.Sprintf("device: %s: statistics of %v and %v, want %v", name, n.Mean.DType, n.RStd.DType, p.Compute))
	}
	CheckLen(name, "x", n.X, n.Rows*n.Cols)
	CheckLen(name, "rstd", n.RStd, n.Rows)
	CheckOptional(name, "weight", n.Weight, n.Cols)
	if !n.RMS {
		CheckLen(name, "mean", n.Mean, n.Rows)
	}
	return p
}

// Plan checks g and panics when an operand does not fit.
func (g NormBackward) Plan() NormBackwardPlan {
	const name = "norm backward"
	CheckFloat(name, g.DY.DType, g.DX.DType, g.DWeight.DType, g.DBias.DType)
	p := NormBackwardPlan{g.N.plan(name), g.DY, g.DX, g.DWeight, g.DBias, g.Add, g.Low}
	CheckLen(name, "dy", g.DY, p.Rows*p.Cols)
	CheckOptional(name, "dx", g.DX, p.Rows*p.Cols)
	CheckOptional(name, "dweight", g.DWeight, p.Cols)
	CheckOptional(name, "dbias", g.DBias, p.Cols)
	return p
}

// Wide reports whether it is computed in float64.
func (p *NormPlan) Wide() bool { return p.Compute == Float64 }

// Normalizations normalises rows, and computes the gradients of that.
type Normalizations interface {
	// Normalize sets, for every row of a LayerNorm, y = (x−mean)·rstd·w + b with
	// the row's mean and rstd = 1/√(variance + eps), the variance being the biased
	// one; of an RMSNorm, y = x·rstd·w with rstd = 1/√(avg(x²) + eps).
	Normalize(p NormPlan)
	// NormalizeBackward sets, with x̂ = (x−mean)·rstd and g = dy·w,
	// dx = rstd·(g − avg(g) − x̂·avg(g·x̂)) + add, dw = Σrows dy·x̂, db = Σrows dy;
	// for RMSNorm mean and avg(g) are 0.
	NormalizeBackward(p NormBackwardPlan)
	// Softmax sets y = e^(x−max) / Σ e^(x−max) for every one of rows rows of
	// cols elements. With causal they are rows of square matrices, and row i of one is
	// of its first i+1 elements: the rest of y is 0.
	Softmax(y, x Array, rows, cols int, causal bool)
	// SoftmaxBackward sets dx = y·(dy − Σ y·dy) for every row.
	SoftmaxBackward(dx, y, dy Array, rows, cols int)
}
