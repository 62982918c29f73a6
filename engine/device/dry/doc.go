// Package dry is a device that computes nothing. Its memory is only addresses,
// and its operations return at once. A training step on it takes the very same
// path through the engine as on a real device, and asks the allocator for the
// same bytes in the same order, so it shows what the step will need at no cost.
//
// Every value that is read back is 0: the loss is a number, and no gradient was
// infinite.
package dry
