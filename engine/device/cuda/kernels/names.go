package kernels

// Kernel is the number of a kernel.
type Kernel uint8

// The kernels, by their names in the PTX, and their modules. Those of one computation
// for several types or layouts follow each other.
var (
	Fill                   = kernel("fill", Elementwise)
	Cast                   = kernel("cast", Elementwise)
	Unary                  = kernel("unary", Elementwise)
	Binary                 = kernel("binary", Elementwise)
	Scale                  = kernel("scale", Elementwise)
	CopyStrided            = kernel("copy_strided", Elementwise)
	ReduceColumns          = kernel("reduce_columns", Elementwise)
	ReduceRows             = kernel("reduce_rows", Elementwise)
	ReduceRanges           = kernel("reduce_ranges", Elementwise)
	NormSquares            = kernel("norm_squares", Optimizers)
	NormRoot               = kernel("norm_root", Optimizers)
	Unscale                = kernel("unscale", Optimizers)
	UpdateScale            = kernel("update_scale", Optimizers)
	Normalize              = kernel("normalize", Norms)
	NormalizeBackward      = kernel("normalize_backward", Norms)
	NormParams             = kernel("norm_params", Norms)
	NormJoin               = kernel("norm_join", Norms)
	Softmax                = kernel("softmax", Norms)
	SoftmaxBackward        = kernel("softmax_backward", Norms)
	Entropy                = kernel("entropy", Norms)
	EntropyMean            = kernel("entropy_mean", Norms)
	EntropyCount           = kernel("entropy_count", Norms)
	EntropyBackward        = kernel("entropy_backward", Norms)
	EntropyBoth            = kernel("entropy_both", Norms)
	ScoreSoftmax           = kernel("score_softmax", Norms)
	ScoreBackward          = kernel("score_backward", Norms)
	AttentionDelta         = kernel("attention_delta", Norms)
	StoreHeads             = kernel("store_heads", Norms)
	Gather                 = kernel("gather", Elementwise)
	ScatterTiles           = kernel("scatter_tiles", Elementwise)
	ScatterChain           = kernel("scatter_chain", Elementwise)
	Scatter                = kernel("scatter", Elementwise)
	Dropout                = kernel("dropout", Elementwise)
	Draw                   = kernel("draw", Elementwise)
	Correct                = kernel("correct", Optimizers)
	Update                 = kernel("update", Optimizers)
	Advance                = kernel("advance", Optimizers)
	Update8                = kernel("update8", Optimizers)
	Matmul                 = kernel("matmul", Products)
	MatmulSmall            = kernel("matmul_small", Products)
	TensorBfloatNn         = kernel("tensor_bfloat_nn", ProductsBfloat)
	TensorBfloatNt         = kernel("tensor_bfloat_nt", ProductsBfloat)
	TensorBfloatTn         = kernel("tensor_bfloat_tn", ProductsBfloat)
	TensorBfloatTt         = kernel("tensor_bfloat_tt", ProductsBfloat)
	TensorHalfNn           = kernel("tensor_half_nn", ProductsHalf)
	TensorHalfNt           = kernel("tensor_half_nt", ProductsHalf)
	TensorHalfTn           = kernel("tensor_half_tn", ProductsHalf)
	TensorHalfTt           = kernel("tensor_half_tt", ProductsHalf)
	Flash                  = kernel("flash", FlashAttention)
	FlashQueries           = kernel("flash_queries", FlashAttention)
	FlashKeys              = kernel("flash_keys", FlashAttention)
	FlashBfloat64          = kernel("flash_bfloat64", FlashAttentionBfloat)
	FlashBfloat128         = kernel("flash_bfloat128", FlashAttentionBfloat)
	FlashHalf64            = kernel("flash_half64", FlashAttentionHalf)
	FlashHalf128           = kernel("flash_half128", FlashAttentionHalf)
	FlashBackwardBfloat64  = kernel("flash_backward_bfloat64", FlashAttentionBfloat)
	FlashBackwardBfloat128 = kernel("flash_backward_bfloat128", FlashAttentionBfloat)
	FlashBackwardHalf64    = kernel("flash_backward_half64", FlashAttentionHalf)
	FlashBackwardHalf128   = kernel("flash_backward_half128", FlashAttentionHalf)
	Unfold                 = kernel("unfold", Convolutions)
	Fold                   = kernel("fold", Convolutions)
	AddChannel             = kernel("add_channel", Convolutions)
)

// Count is the number of kernels.
const Count Kernel = 62

var (
	names   [Count]string
	modules [Count]Module
	next    Kernel // the number that the next one gets
)

// kernel gives a kernel the next number.
func kernel(name string, m Module) Kernel {
	k := next
	names[k], modules[k] = name, m
	next++
	return k
}

// String returns the kernel's name in the module.
func (k Kernel) String() string { return names[k] }

// ModuleOf returns the module that contains a kernel.
func ModuleOf(k Kernel) Module { return modules[k] }
