package kernels

//go:generate go run ../../../../cmd/tools/modulegen

// Module is a set of kernels that a driver loads together. A device loads a
// module when it first launches one of its kernels, because no run uses all
// modules.
type Module uint8

// The modules.
const (
	Elementwise Module = iota
	Optimizers
	Norms
	Products
	ProductsBfloat
	ProductsHalf
	FlashAttention
	FlashAttentionBfloat
	FlashAttentionHalf
	Convolutions
	ModuleCount // the number of modules
)

// Smallest is the module that a driver loads fastest.
const Smallest = Convolutions

var moduleNames = [ModuleCount]string{
	Elementwise:          "elementwise",
	Optimizers:           "optimizers",
	Norms:                "norms",
	Products:             "matmul",
	ProductsBfloat:       "matmul_bfloat",
	ProductsHalf:         "matmul_half",
	FlashAttention:       "flash",
	FlashAttentionBfloat: "flash_bfloat",
	FlashAttentionHalf:   "flash_half",
	Convolutions:         "convolutions",
}

// String returns the module's name.
func (m Module) String() string { return moduleNames[m] }

// ModuleOf returns the module that contains a kernel.
func ModuleOf(k Kernel) Module { return modules[k] }

var modules = assign()

// assign returns the module of every kernel. Neighbours in the list of kernels
// share a module, except for flash on tensor cores, where the types alternate.
func assign() (of [Count]Module) {
	first := Kernel(0)
	for _, run := range []struct {
		last   Kernel
		module Module
	}{
		{ReduceRanges, Elementwise},
		{UpdateScale, Optimizers},
		{StoreHeads, Norms},
		{Draw, Elementwise},
		{Update8, Optimizers},
		{MatmulSmall, Products},
		{TensorBfloatTt, ProductsBfloat},
		{TensorHalfTt, ProductsHalf},
		{FlashKeys, FlashAttention},
		{FlashBackwardHalf128, FlashAttentionBfloat},
		{AddChannel, Convolutions},
	} {
		for ; first <= run.last; first++ {
			of[first] = run.module
		}
	}
	for _, k := range []Kernel{FlashHalf64, FlashBackwardHalf64} {
		of[k], of[k+1] = FlashAttentionHalf, FlashAttentionHalf
	}
	return of
}
