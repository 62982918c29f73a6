package kernels

// Kernel is one of the kernels of the module.
type Kernel uint8

// The kernels. Their names in the PTX are what String returns.
const (
	Fill Kernel = iota
	Cast
	Unary
	UnaryWide
	Binary
	BinaryWide
	Scale
	ScaleWide
	CopyStrided
	ReduceColumns
	ReduceRows
	ReduceRanges
	NormSquares
	NormRoot
	Unscale
	Clip
	UpdateScale
	Normalize
	NormalizeWide
	NormalizeBackward
	NormalizeBackwardWide
	NormParams
	NormParamsWide
	Softmax
	SoftmaxWide
	SoftmaxBackward
	SoftmaxBackwardWide
	Entropy
	EntropyWide
	EntropyMean
	EntropyBackward
	EntropyBackwardWide
	Gather
	Scatter
	ScatterWide
	Dropout
	DropoutWide
	Draw
	Update
	UpdateWide
	Advance
	Update8
	Matmul
	MatmulSmall
	MatmulWide
	TensorBfloatNn
	TensorBfloatNt
	TensorBfloatTn
	TensorBfloatTt
	TensorHalfNn
	TensorHalfNt
	TensorHalfTn
	TensorHalfTt
	Count // the number of kernels
)

var names = [Count]string{
	Fill:                  "fill",
	Cast:                  "cast",
	Unary:                 "unary",
	UnaryWide:             "unary_wide",
	Binary:                "binary",
	BinaryWide:            "binary_wide",
	Scale:                 "scale",
	ScaleWide:             "scale_wide",
	CopyStrided:           "copy_strided",
	ReduceColumns:         "reduce_columns",
	ReduceRows:            "reduce_rows",
	ReduceRanges:          "reduce_ranges",
	NormSquares:           "norm_squares",
	NormRoot:              "norm_root",
	Unscale:               "unscale",
	Clip:                  "clip",
	UpdateScale:           "update_scale",
	Normalize:             "normalize",
	NormalizeWide:         "normalize_wide",
	NormalizeBackward:     "normalize_backward",
	NormalizeBackwardWide: "normalize_backward_wide",
	NormParams:            "norm_params",
	NormParamsWide:        "norm_params_wide",
	Softmax:               "softmax",
	SoftmaxWide:           "softmax_wide",
	SoftmaxBackward:       "softmax_backward",
	SoftmaxBackwardWide:   "softmax_backward_wide",
	Entropy:               "entropy",
	EntropyWide:           "entropy_wide",
	EntropyMean:           "entropy_mean",
	EntropyBackward:       "entropy_backward",
	EntropyBackwardWide:   "entropy_backward_wide",
	Gather:                "gather",
	Scatter:               "scatter",
	ScatterWide:           "scatter_wide",
	Dropout:               "dropout",
	DropoutWide:           "dropout_wide",
	Draw:                  "draw",
	Update:                "update",
	UpdateWide:            "update_wide",
	Advance:               "advance",
	Update8:               "update8",
	Matmul:                "matmul",
	MatmulSmall:           "matmul_small",
	MatmulWide:            "matmul_wide",
	TensorBfloatNn:        "tensor_bfloat_nn",
	TensorBfloatNt:        "tensor_bfloat_nt",
	TensorBfloatTn:        "tensor_bfloat_tn",
	TensorBfloatTt:        "tensor_bfloat_tt",
	TensorHalfNn:          "tensor_half_nn",
	TensorHalfNt:          "tensor_half_nt",
	TensorHalfTn:          "tensor_half_tn",
	TensorHalfTt:          "tensor_half_tt",
}

// String returns the kernel's name in the module.
func (k Kernel) String() string { return names[k] }
