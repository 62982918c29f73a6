// Package cuda is the device cuda:N: an NVIDIA GPU, used through its driver
// alone. No toolkit is needed, no C compiler, and nothing is linked: the driver
// is looked for when a device is opened, and its absence is an ordinary error.
//
// # Layers
//
// The driver's entry points are a table ([Symbol]) that something answers: the
// library libcuda, or in tests a driver in this process that keeps the same
// contract. Everything above is ordinary code and is tested without a GPU.
//
// Memory is a driver for engine/alloc, with streams and expandable segments.
// The queue moves bytes and launches kernels in the order of the calls.
//
// # Threads
//
// The driver has a current context per thread of the operating system. Every
// entry into this package binds the calling thread for the length of the call,
// which costs a tenth of a microsecond, so any goroutine may call; what belongs
// to one goroutine at a time says so.
//
// # Failures
//
// Memory that is not there is alloc.ErrNoMemory. Most other failures of a GPU
// end its context: the first one is kept, everything after it fails with the
// same error, and the device must be closed.
package cuda
