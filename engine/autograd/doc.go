// Package autograd computes with tensors and takes gradients: operations are
// methods of a [Tape], which remembers what their gradients need.
//
// # Lifetimes
//
// Device memory is never left to the garbage collector. Every [Value] that an
// operation returns belongs to the innermost open frame ([Tape.Frame]); when the
// frame closes, all of its values are released at once but those it returns,
// which move to the frame around it. [Tape.Run] is the outermost frame, usually
// one training step, and leaves nothing behind. [Tape.Done] releases a value
// earlier.
//
// What a backward rule will read is saved: the tape takes a handle of its own,
// remembers the version of the memory, and says in the memory's tag that it is
// an activation of the layer that saved it first. Right after the rule has run,
// the handle is released. So between two operations live memory is exactly:
// variables, their gradients, inputs, what frames own, and what the tape saved.
//
// # Rules
//
// Operations are pure. Who writes to a variable's tensor between them, as an
// optimizer does, says so to its storage: a rule that reads what was written to
// since it was saved panics. Shapes that do not fit are the caller's bug and panic
// with both shapes. When the machine fails the operation panics with a
// *tensor.Failure, see [tensor.Try]; Run then releases everything on its way out.
//
// Backward consumes the graph: a value can be differentiated once.
//
// A Tape and all of its values belong to one goroutine.
package autograd
