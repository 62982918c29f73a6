// Package autograd computes with tensors and takes gradients. Operations are
// methods of a [Tape], which saves the tensors that their gradients need.
//
// # Lifetimes
//
// Device memory is never left to the garbage collector. Every [Value] that an
// operation returns belongs to the innermost open frame ([Tape.Frame]). When the
// frame closes, it releases all of its values at once, except those that it
// returns; these move to the frame around it. [Tape.Run] is the outermost frame,
// usually one training step, and leaves nothing behind. [Tape.Done] releases a
// value earlier.
//
// The tape saves every tensor that a backward rule will read: it takes a handle
// of its own, remembers the version of the memory, and tags the memory as an
// activation of the layer that saved it first. The tape releases the handle right
// after the rule has run. So between two operations live memory is exactly:
// variables, their gradients, inputs, the values of open frames, and the tensors
// that the tape saved.
//
// # Rules
//
// Operations are pure. Code that writes to a variable's tensor between them, such
// as an optimizer, reports the write to the tensor's storage. A rule panics if a
// tensor that it reads was written to after it was saved. Shapes that do not fit
// are the caller's bug and panic with both shapes. If the machine fails, the
// operation panics with a *tensor.Failure, see [tensor.Try]; Run then releases
// everything on its way out.
//
// Backward consumes the graph: a value can be differentiated once.
//
// A Tape and all of its values belong to one goroutine.
package autograd
