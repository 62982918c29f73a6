// Package iteration finds the iterations of a program that marks none, from what its
// stacks say of each event. In order of strength:
//
//   - calls of an optimizer's step, from the same line, with a forward or backward
//     pass between them: a step ends with each;
//   - calls of zero_grad, where those are far more, as with a fused optimizer that
//     allocates nothing once its state is made: a step is from one to the next;
//   - backward passes with a forward pass between them;
//   - visits of one line of a loop around the model, which are alike.
//
// What is found is a guess, and whoever shows it says so.
package iteration
