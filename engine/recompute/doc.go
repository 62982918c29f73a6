// Package recompute chooses the activations that a training step computes again
// instead of keeping them, so that the step stays within a limit of bytes and
// takes the least time. It is arithmetic only: who measures a step, and who then
// runs it, is not known here.
//
// # The model
//
// Blocks run in order, forwards and then backwards. What a block keeps is there
// from its run to its backward pass, so while block i works there is what the
// blocks before it keep, and what it needs itself; while none works there is
// what all of them keep. Each block is run in one of several ways, such as kept
// whole, or computed again. The choice in one block changes another only by how
// much is kept before it.
//
// # The solution
//
// Going through the blocks in order, of all ways to come this far only those
// matter that keep less than any other of the same cost: a front, which stays
// small, because blocks of a model are alike. When it does not stay small, ways
// whose costs differ by less than one part in many are taken for one, so that
// the cost at the end is at most one per cent above the least.
package recompute
