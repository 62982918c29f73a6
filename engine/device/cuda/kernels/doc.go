// Package kernels computes on the CUDA device. It contains the kernels' code, and
// implements the operations of device.Backend as kernel launches. It calls no
// driver: the caller gives Compute a Queue, and gets all of device.Backend except
// the transfers. The Queue of the tests is the host build of the same sources.
//
// # Kernels
//
// The sources are in package source: C++ for a machine that rt.h describes in a
// few dozen functions. `go generate` compiles them to the archives in folder
// modules: Debian's clang compiles to PTX, without an SDK, and ptxas compiles the
// PTX to machine code. Package hostbuild compiles the sources with any C++
// compiler to a library in which a block's threads run as lanes. Every kernel
// takes one struct by value; its mirror in Go is beside the operation that
// launches it. The compiler does not contract arithmetic, so both builds compute
// the same, except for the machine's approximate functions.
//
// # Modules
//
// Kernels that a run uses together form one module. The device loads a module
// when it first launches one of its kernels. All kernels run on compute
// capability 8.0 and later.
//
// # Precision and order
//
// Kernels compute in float32, and carry some sums in float64. An operation on arrays of
// float64, which is for gradient checks on the processor, panics; they are only filled,
// cast and copied. The sizes alone fix the order of a sum: there are no floating-point
// atomics.
package kernels
