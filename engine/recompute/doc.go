// Package recompute chooses the activations that a training step computes again
// instead of keeping them, so that the step stays within a limit of bytes and
// takes the least time. It only computes: other packages measure a step and run
// it.
//
// # The model
//
// Blocks run in order, forwards and then backwards. The memory that a block keeps
// is held from its run to its backward pass. So while block i works, the level is
// what the earlier blocks keep plus its own need; while no block works, it is
// what all of them keep. Each block runs in one of several ways, such as kept
// whole, or computed again. The choice in one block affects another only by how
// much is kept before it.
//
// # The solution
//
// Solve goes through the blocks in order. Of all choices for the blocks so far,
// only those matter that keep less than any other of the same cost: a front,
// which stays small, because blocks of a model are alike. If it grows too large,
// Solve merges choices whose costs differ by a tiny factor, so that the final
// cost is at most one per cent above the least.
package recompute
