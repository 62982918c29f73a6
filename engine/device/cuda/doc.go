// Package cuda is the device cuda:N: an NVIDIA GPU. It needs only the driver. It
// needs no toolkit and no C compiler, and links nothing: the driver is loaded
// when a device is opened, and its absence is an ordinary error.
//
// # Layers
//
// The driver's entry points are a table ([Symbol]). A [Driver] implements them:
// the library libcuda, or in tests a driver in this process with the same
// contract. Everything above is ordinary code and is tested without a GPU.
//
// Memory is a driver for engine/alloc, with streams and expandable segments.
// The queue moves bytes and launches kernels in the order of the calls.
//
// # Threads
//
// The driver has a current context per thread of the operating system. Every
// entry into this package binds the calling thread for the length of the call,
// which costs a tenth of a microsecond, so any goroutine may call. Types that
// belong to one goroutine at a time say so.
//
// # Failures
//
// A lack of memory is alloc.ErrNoMemory. Some failures, listed in result.go, end
// the context of the device. The package keeps the first one, every later call
// fails with the same error, and the caller must close the device.
//
// # Environment
//
// MEMTOP_CUDA_LIB_DIR is the folder where the libraries of the driver, of products
// and of groups are looked for first.
package cuda
