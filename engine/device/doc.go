// Package device is the boundary between the training engine and the machine
// that computes: element types, places in device memory, and the operations
// that a device offers.
//
// It is not a tensor library. Nothing here knows shapes beyond what one
// operation needs, owns memory, counts references or records gradients; that
// is above. Memory comes from engine/alloc, which asks the device for
// segments; the device's operations are handed addresses inside them.
//
// # The rules every operation keeps
//
// Queueing. A Backend is one queue. Operations take effect in the order of the
// calls; a call may return before its operation has run. Only Download and
// Synchronize wait, and only Download and Fetch hand a value to the host.
//
// Layout. An Array is contiguous, last dimension fastest. Operations that
// accept anything else say so (MatMul, Attention and CopyStrided take strides);
// for the rest the caller makes things contiguous first.
//
// Types. Arithmetic is done in float64 when every floating-point operand of the
// operation is float64, and in float32 otherwise, whatever the storage types;
// sums over many elements may be carried in more. Results are rounded once, to
// nearest even, when stored. An operation that is pickier says so.
//
// Aliasing. An output may be the same Array as an input where the operation is
// element by element; any other overlap is the caller's bug.
//
// Plans. Products, attention, normalisation, convolution and optimizer steps are
// described, then planned: Plan checks the description against its operands and
// fills in what zeros stand for. A Backend takes plans only, and checks nothing
// again.
//
// Errors. Wrong sizes and types are bugs of the caller: the call panics with
// what it was given. Failures of the machine are kept and reported by the next
// Synchronize or Download.
//
// Determinism. On one device and one build, equal inputs give equal bits,
// whatever the number of threads.
//
// Ownership. Argument values and the slices in them are read before the call
// returns, never kept.
package device
