// Package kernels computes on the CUDA device: it has the kernels' code, and
// implements the operations of device.Backend as kernel launches. It calls no
// driver: a caller gives Compute a Queue and gets all of device.Backend but the
// transfers. The tests' Queue is the host build of the same sources.
//
// # Kernels
//
// The sources are in package source: C++ for a machine that rt.h describes in
// a few dozen functions. `go generate` compiles them to the archives in modules:
// Debian's clang to PTX, without an SDK, and ptxas the PTX to machine code.
// Package hostbuild compiles them with any C++ compiler to a library in which a
// block's threads run as lanes. Every kernel
// takes one struct by value; its mirror in Go is beside the operation that
// launches it. Arithmetic is not contracted by the compiler, so both builds
// compute the same up to the machine's approximate functions.
//
// # Modules
//
// Kernels that a run uses together are one module, loaded for the first of them.
// All run on compute capability 8.0 and later, except Hopper's products: they use
// instructions that only 9.0 has, and are launched only after a call of
// UseHopper.
//
// # Precision and order
//
// A kernel that computes in float64 has _wide at the end of its name, and runs
// when all floating-point operands are float64. Sums have one order, fixed by
// sizes: there are no floating-point atomics.
package kernels
