// Package tensor is memory with a shape: reference-counted storages on blocks of
// the caching allocator, and views of them.
//
// It knows no gradients and computes nothing but copies; that is package
// autograd, above, which calls the device's [device.Backend] on what this
// package holds.
//
// # Who owns what
//
// A [Storage] is one block of the allocator. A [Tensor] is a handle on a
// storage: a shape, strides and an offset into it. Every handle that a function
// of this package returns belongs to its caller, who calls [Tensor.Release]
// exactly once; [Tensor.Retain] makes one more handle. The storage's memory goes
// back to the allocator in the moment in which its last handle is released, and
// never because of the garbage collector, which can only report that a storage
// was lost while handles were still out: see [Device.OnLeak].
//
// # Mistakes and failures
//
// A wrong shape, element type or handle is a bug of the caller: the call panics
// with both shapes. A failure of the machine (no memory left, a device that has
// died) is a panic with a [Failure], which [Try] turns into an error. Operations
// thus need no error result, and the one place that can do something about a
// failure, the top of a training step, gets it as an ordinary error:
//
//	err := tensor.Try(func() { loss = step(batch) })
//
// # Concurrency
//
// A [Device] and all that was made on it belong to one goroutine. Observers read
// the allocator, which is safe for concurrent use.
package tensor
