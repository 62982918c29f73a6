package kernels

import "embed"

//go:generate go run ./ptxgen

// Module is kernels whose PTX is one text, which a driver of CUDA 12.0 or later
// compiles when it is loaded. A device loads a module when it first launches a
// kernel of it: compiling all of them takes a driver seconds, and no run uses
// all.
type Module uint8

// The modules.
const (
	Elementwise Module = iota
	Optimizers
	Norms
	Products
	ProductsBfloat
	ProductsHalf
	HopperBfloat // for compute capability 9.0 alone, as is HopperHalf
	HopperHalf
	FlashAttention
	FlashAttentionBfloat
	FlashAttentionHalf
	Convolutions
	ModuleCount // the number of modules
)

// Smallest is the module that takes a driver the least time.
const Smallest = Convolutions

var moduleNames = [ModuleCount]string{
	Elementwise:          "elementwise",
	Optimizers:           "optimizers",
	Norms:                "norms",
	Products:             "matmul",
	ProductsBfloat:       "matmul_bfloat",
	ProductsHalf:         "matmul_half",
	HopperBfloat:         "hopper_bfloat",
	HopperHalf:           "hopper_half",
	FlashAttention:       "flash",
	FlashAttentionBfloat: "flash_bfloat",
	FlashAttentionHalf:   "flash_half",
	Convolutions:         "convolutions",
}

// String returns the module's name.
func (m Module) String() string { return moduleNames[m] }

//go:embed ptx/*.ptx
var texts embed.FS

// PTX returns a copy of the module's text, which ends in a zero byte as the
// driver wants it. Its entry points are the names of its kernels.
func (m Module) PTX() []byte {
	text, err := texts.ReadFile("ptx/" + m.String() + ".ptx")
	if err != nil {
		panic(err) // it is part of the program
	}
	return append(text, 0)
}

// ModuleOf returns the module that has a kernel.
func ModuleOf(k Kernel) Module { return modules[k] }

var modules = assign()

// assign says which module has which kernel: neighbours in the list of kernels
// are together, but for flash on tensor cores, where the types take turns.
func assign() (of [Count]Module) {
	first := Kernel(0)
	for _, run := range []struct {
		last   Kernel
		module Module
	}{
		{ReduceRanges, Elementwise},
		{UpdateScale, Optimizers},
		{StoreHeadsWide, Norms},
		{Draw, Elementwise},
		{Update8, Optimizers},
		{MatmulWide, Products},
		{TensorBfloatTt, ProductsBfloat},
		{TensorHalfTt, ProductsHalf},
		{HopperBfloatTt, HopperBfloat},
		{HopperHalfTt, HopperHalf},
		{FlashKeysWide, FlashAttention},
		{FlashKeysHalf128, FlashAttentionBfloat},
		{AddChannelWide, Convolutions},
	} {
		for ; first <= run.last; first++ {
			of[first] = run.module
		}
	}
	for _, k := range []Kernel{FlashHalf64, FlashQueriesHalf64, FlashKeysHalf64} {
		of[k], of[k+1] = FlashAttentionHalf, FlashAttentionHalf
	}
	return of
}
