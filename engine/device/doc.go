// Package device is the boundary between the training engine and the machine
// that computes: element types, places in device memory, and the operations
// that a device offers.
//
// It is not a tensor library. It knows shapes only as far as one operation needs
// them. It owns no memory, counts no references and records no gradients:
// packages above do that. Memory comes from engine/alloc, which asks the device
// for segments. Operations get addresses inside them.
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
// nearest even, when stored. An operation with stricter rules says so.
//
// Aliasing. An output may be the same Array as an input if the operation works
// element by element; any other overlap is a bug in the caller.
//
// Plans. Products, attention, normalisation, convolution and optimizer steps are
// described, then planned: Plan checks the description against its operands and
// replaces zeros by defaults. A Backend takes only plans, and does not check them
// again.
//
// Errors. Wrong sizes and types are bugs in the caller: the call panics with the
// values that it was given. The backend keeps failures of the machine and reports
// them in the next Synchronize or Download.
//
// Determinism. On one device and one build, equal inputs give equal bits,
// whatever the number of threads.
//
// Ownership. An operation reads its arguments and their slices before the call
// returns, and never keeps them.
package device
