package kernels

// Kernel is the number of a kernel.
type Kernel uint8

// The kernels. String returns their names in the PTX.
const (
	Fill Kernel = iota
	Cast
	Unary
	Binary
	Scale
	CopyStrided
	ReduceColumns
	ReduceRows
	ReduceRanges
	NormSquares
	NormRoot
	Unscale
	UpdateScale
	Normalize
	NormalizeBackward
	NormParams
	NormJoin
	Softmax
	SoftmaxBackward
	Entropy
	EntropyMean
	EntropyCount
	EntropyBackward
	EntropyBoth
	ScoreSoftmax
	ScoreBackward
	AttentionDelta
	StoreHeads
	Gather
	ScatterTiles
	ScatterChain
	Scatter
	Dropout
	Draw
	Correct
	Update
	Advance
	Update8
	Matmul
	MatmulSmall
	TensorBfloatNn
	TensorBfloatNt
	TensorBfloatTn
	TensorBfloatTt
	TensorHalfNn
	TensorHalfNt
	TensorHalfTn
	TensorHalfTt
	Flash
	FlashQueries
	FlashKeys
	FlashBfloat64
	FlashBfloat128
	FlashHalf64
	FlashHalf128
	FlashBackwardBfloat64
	FlashBackwardBfloat128
	FlashBackwardHalf64
	FlashBackwardHalf128
	Unfold
	Fold
	AddChannel
	Count // the number of kernels
)

var names = [Count]string{
	Fill:                   "fill",
	Cast:                   "cast",
	Unary:                  "unary",
	Binary:                 "binary",
	Scale:                  "scale",
	CopyStrided:            "copy_strided",
	ReduceColumns:          "reduce_columns",
	ReduceRows:             "reduce_rows",
	ReduceRanges:           "reduce_ranges",
	NormSquares:            "norm_squares",
	NormRoot:               "norm_root",
	Unscale:                "unscale",
	UpdateScale:            "update_scale",
	Normalize:              "normalize",
	NormalizeBackward:      "normalize_backward",
	NormParams:             "norm_params",
	NormJoin:               "norm_join",
	Softmax:                "softmax",
	SoftmaxBackward:        "softmax_backward",
	Entropy:                "entropy",
	EntropyMean:            "entropy_mean",
	EntropyCount:           "entropy_count",
	EntropyBackward:        "entropy_backward",
	EntropyBoth:            "entropy_both",
	ScoreSoftmax:           "score_softmax",
	ScoreBackward:          "score_backward",
	AttentionDelta:         "attention_delta",
	StoreHeads:             "store_heads",
	Gather:                 "gather",
	ScatterTiles:           "scatter_tiles",
	ScatterChain:           "scatter_chain",
	Scatter:                "scatter",
	Dropout:                "dropout",
	Draw:                   "draw",
	Correct:                "correct",
	Update:                 "update",
	Advance:                "advance",
	Update8:                "update8",
	Matmul:                 "matmul",
	MatmulSmall:            "matmul_small",
	TensorBfloatNn:         "tensor_bfloat_nn",
	TensorBfloatNt:         "tensor_bfloat_nt",
	TensorBfloatTn:         "tensor_bfloat_tn",
	TensorBfloatTt:         "tensor_bfloat_tt",
	TensorHalfNn:           "tensor_half_nn",
	TensorHalfNt:           "tensor_half_nt",
	TensorHalfTn:           "tensor_half_tn",
	TensorHalfTt:           "tensor_half_tt",
	Flash:                  "flash",
	FlashQueries:           "flash_queries",
	FlashKeys:              "flash_keys",
	FlashBfloat64:          "flash_bfloat64",
	FlashBfloat128:         "flash_bfloat128",
	FlashHalf64:            "flash_half64",
	FlashHalf128:           "flash_half128",
	FlashBackwardBfloat64:  "flash_backward_bfloat64",
	FlashBackwardBfloat128: "flash_backward_bfloat128",
	FlashBackwardHalf64:    "flash_backward_half64",
	FlashBackwardHalf128:   "flash_backward_half128",
	Unfold:                 "unfold",
	Fold:                   "fold",
	AddChannel:             "add_channel",
}

// String returns the kernel's name in the module.
func (k Kernel) String() string { return names[k] }
