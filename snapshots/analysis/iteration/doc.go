// Package iteration infers the iterations of a program that does not mark them
// from the stacks of its events. The evidence, strongest first:
//
//   - calls of an optimizer's step, from the same line, with a forward or backward
//     pass between them: a step ends with each;
//   - calls of zero_grad, where those are far more, as with a fused optimizer that
//     allocates nothing once its state is made: a step is from one to the next;
//   - backward passes with a forward pass between them.
//
// A loop that only calls a model shows no steps: the same frames are those of a
// loop over layers within one forward pass.
//
// The result is a guess, and code that shows it says so.
package iteration
