// Package difference compares the memory of two moments, of two traces or of one.
// It adds up the memory of both by category, by line, by module and by the time
// of the allocation, and names the causes of the difference if they can be
// counted.
//
// # Same lines
//
// Stacks of two traces are compared by their frames' file, line and function. If
// only one trace has a file, and the other has a file whose path ends alike, the
// two count as the same file: the program may lie in another folder.
//
// # Causes
//
// Every allocation that is held at either moment is in one cause, so the causes add up
// to the difference. Allocations are told apart by the line they are from and by whether
// they are copies that autocast made. Of the allocations of a line, in this order:
//
//   - those of equal sizes are no difference;
//   - those of which each is larger or smaller by the same factor are scaled. A factor
//     counts where two allocations have it. So does 2 or 1/2 where the sides differ in
//     element types or in autocast, of any allocations of a line;
//   - copies of autocast that only one side has are casts;
//   - those of a line that has no memory on the other side are moved if a line that has
//     none on this side has the same sizes there;
//   - those that the other side makes at that line when checkpointing runs it, which only
//     that side does, are recomputed;
//   - those that the other side allocates in the same step, but does not hold at its
//     moment, are of another moment;
//   - what remains appeared or vanished.
package difference
