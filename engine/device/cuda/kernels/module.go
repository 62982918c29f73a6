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
