package kernels

// Kernel is the number of a kernel.
type Kernel uint8

// The kernels. String returns their names in the PTX.
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
	UpdateScale
	Normalize
	NormalizeWide
	NormalizeBackward
	NormalizeBackwardWide
	NormParams
	NormParamsWide
	NormJoin
	Softmax
	SoftmaxWide
	SoftmaxBackward
	SoftmaxBackwardWide
	Entropy
	EntropyWide
	EntropyMean
	EntropyCount
	EntropyBackward
	EntropyBackwardWide
	EntropyBoth
	EntropyBothWide
	ScoreSoftmax
	ScoreSoftmaxWide
	ScoreBackward
	ScoreBackwardWide
	AttentionDelta
	AttentionDeltaWide
	StoreHeads
	StoreHeadsWide
	Gather
	ScatterTiles
	ScatterChain
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
	Flash
	FlashWide
	FlashQueries
	FlashKeys
	FlashQueriesWide
	FlashKeysWide
	FlashBfloat64
	FlashBfloat128
	FlashHalf64
	FlashHalf128
	FlashBackwardBfloat64
	FlashBackwardBfloat128
	FlashBackwardHalf64
	FlashBackwardHalf128
	Unfold
	UnfoldWide
	Fold
	FoldWide
	AddChannel
	AddChannelWide
	Count // the number of kernels
)

var names = [Count]string{
	Fill:                   "fill",
	Cast:                   "cast",
	Unary:                  "unary",
	UnaryWide:              "unary_wide",
	Binary:                 "binary",
	BinaryWide:             "binary_wide",
	Scale:                  "scale",
	ScaleWide:              "scale_wide",
	CopyStrided:            "copy_strided",
	ReduceColumns:          "reduce_columns",
	ReduceRows:             "reduce_rows",
	ReduceRanges:           "reduce_ranges",
	NormSquares:            "norm_squares",
	NormRoot:               "norm_root",
	Unscale:                "unscale",
	UpdateScale:            "update_scale",
	Normalize:              "normalize",
	NormalizeWide:          "normalize_wide",
	NormalizeBackward:      "normalize_backward",
	NormalizeBackwardWide:  "normalize_backward_wide",
	NormParams:             "norm_params",
	NormParamsWide:         "norm_params_wide",
	NormJoin:               "norm_join",
	Softmax:                "softmax",
	SoftmaxWide:            "softmax_wide",
	SoftmaxBackward:        "softmax_backward",
	SoftmaxBackwardWide:    "softmax_backward_wide",
	Entropy:                "entropy",
	EntropyWide:            "entropy_wide",
	EntropyMean:            "entropy_mean",
	EntropyCount:           "entropy_count",
	EntropyBackward:        "entropy_backward",
	EntropyBackwardWide:    "entropy_backward_wide",
	EntropyBoth:            "entropy_both",
	EntropyBothWide:        "entropy_both_wide",
	ScoreSoftmax:           "score_softmax",
	ScoreSoftmaxWide:       "score_softmax_wide",
	ScoreBackward:          "score_backward",
	ScoreBackwardWide:      "score_backward_wide",
	AttentionDelta:         "attention_delta",
	AttentionDeltaWide:     "attention_delta_wide",
	StoreHeads:             "store_heads",
	StoreHeadsWide:         "store_heads_wide",
	Gather:                 "gather",
	ScatterTiles:           "scatter_tiles",
	ScatterChain:           "scatter_chain",
	Scatter:                "scatter",
	ScatterWide:            "scatter_wide",
	Dropout:                "dropout",
	DropoutWide:            "dropout_wide",
	Draw:                   "draw",
	Update:                 "update",
	UpdateWide:             "update_wide",
	Advance:                "advance",
	Update8:                "update8",
	Matmul:                 "matmul",
	MatmulSmall:            "matmul_small",
	MatmulWide:             "matmul_wide",
	TensorBfloatNn:         "tensor_bfloat_nn",
	TensorBfloatNt:         "tensor_bfloat_nt",
	TensorBfloatTn:         "tensor_bfloat_tn",
	TensorBfloatTt:         "tensor_bfloat_tt",
	TensorHalfNn:           "tensor_half_nn",
	TensorHalfNt:           "tensor_half_nt",
	TensorHalfTn:           "tensor_half_tn",
	TensorHalfTt:           "tensor_half_tt",
	Flash:                  "flash",
	FlashWide:              "flash_wide",
	FlashQueries:           "flash_queries",
	FlashKeys:              "flash_keys",
	FlashQueriesWide:       "flash_queries_wide",
	FlashKeysWide:          "flash_keys_wide",
	FlashBfloat64:          "flash_bfloat64",
	FlashBfloat128:         "flash_bfloat128",
	FlashHalf64:            "flash_half64",
	FlashHalf128:           "flash_half128",
	FlashBackwardBfloat64:  "flash_backward_bfloat64",
	FlashBackwardBfloat128: "flash_backward_bfloat128",
	FlashBackwardHalf64:    "flash_backward_half64",
	FlashBackwardHalf128:   "flash_backward_half128",
	Unfold:                 "unfold",
	UnfoldWide:             "unfold_wide",
	Fold:                   "fold",
	FoldWide:               "fold_wide",
	AddChannel:             "add_channel",
	AddChannelWide:         "add_channel_wide",
}

// String returns the kernel's name in the module.
func (k Kernel) String() string { return names[k] }
