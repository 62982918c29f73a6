// Package cpu is the embedded device cpu:0. It is a region of ordinary memory of
// a fixed capacity that behaves as a GPU's memory does, with kernels that run on
// all cores.
//
// The memory ([Memory]) is a driver for engine/alloc. Segments have the same
// addresses in every run, a request beyond the capacity is refused though the
// host may have more, and a freed segment goes back to the system, so that an
// operation on it is detected instead of reading arbitrary data.
//
// The kernels ([Backend]) implement device.Backend. Storage has its real size in
// every type. Arithmetic is in float32, or in float64 if all operands are. Sizes
// alone decide how work is divided into parts, and sums across parts are added in
// the order of the parts, so results do not depend on the number of threads. An
// operation allocates nothing once its scratch has grown to the sizes in use.
package cpu
