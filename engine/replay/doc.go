// Package replay repeats the requests of a recorded trace on our own allocator.
//
// There are two ways. The first follows a recording: the driver answers with the
// recorded addresses, has no memory where the recording got none, and every event
// that the allocator makes must be the recorded one. It is the proof that the
// allocator behaves as PyTorch's did in this trace, and the conformance test of
// package alloc. The second gives only the program's calls, allocations and frees,
// to an allocator with other settings over a driver that counts: it answers what
// would have been. [Answer] does both.
//
// It imports no viewer: what it answers is a [whatif.Answer], and viewers get
// [Answer] as a function.
package replay
