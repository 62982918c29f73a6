package kernels

import _ "embed" // for the PTX

//go:generate go run ./ptxgen

// PTX is the module of all kernels for compute capability 8.0 and above. Its
// entry points are the names of the kernels. A driver of CUDA 12.0 or later
// compiles it when it is loaded.
//
//go:embed ptx/sm80.ptx
var PTX []byte
