package device

// Norm describes a normalisation of Rows rows of Cols elements each. X and Y
// are [Rows, Cols]; Weight and Bias, either of which may be absent, [Cols];
// Mean and RStd [Rows], float32 (float64 when X is), written by the forward
// operation and read by the backward one. RMSNorm has no Mean and no Bias.
type Norm struct {
	Rows, Cols         int
	Eps                float64
	X, Y, Weight, Bias Array
	Mean, RStd         Array
}

// NormBackward describes the gradient of a Norm. DY and DX are [Rows, Cols];
// DWeight and DBias [Cols]. Any of the three outputs may be absent. Outputs are
// overwritten. N's Y and Bias are not read.
type NormBackward struct {
	N                      Norm
	DY, DX, DWeight, DBias Array
}

// Normalizations normalises rows and undoes it for gradients.
type Normalizations interface {
	// LayerNorm sets, for every row, y = (x−mean)·rstd·w + b with the row's
	// mean and rstd = 1/√(variance + eps), the variance being the biased one.
	LayerNorm(n Norm)
	// LayerNormBackward sets, with x̂ = (x−mean)·rstd and g = dy·w,
	// dx = rstd·(g − avg(g) − x̂·avg(g·x̂)), dw = Σrows dy·x̂, db = Σrows dy.
	LayerNormBackward(n NormBackward)
	// RMSNorm sets y = x·rstd·w with rstd = 1/√(avg(x²) + eps).
	RMSNorm(n Norm)
	// RMSNormBackward sets, with x̂ = x·rstd and g = dy·w,
	// dx = rstd·(g − x̂·avg(g·x̂)), dw = Σrows dy·x̂.
	RMSNormBackward(n NormBackward)
	// Softmax sets y = e^(x−max) / Σ e^(x−max) for every one of rows rows of
	// cols elements.
	Softmax(y, x Array, rows, cols int)
	// SoftmaxBackward sets dx = y·(dy − Σ y·dy) for every row.
	SoftmaxBackward(dx, y, dy Array, rows, cols int)
}
