package kernels

import "embed"

//go:generate go run ./ptxgen

// Module is a set of kernels whose PTX is one text, which a driver of CUDA 12.0
// or later compiles when it is loaded. A device loads a module when it first
// launches a kernel of it: a driver takes seconds to compile all, and no run uses
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

// Smallest is the module that a driver compiles fastest.
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

// PTX returns a copy of the module's text, with the zero byte at its end that the
// driver needs. Its entry points are the names of its kernels.
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

// assign returns the module of every kernel: neighbours in the list of kernels
// are together, except flash on tensor cores, where the types alternate.
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
