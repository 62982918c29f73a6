// Package replay repeats the requests of a recorded trace on our own allocator.
//
// There are two ways. The first follows a recording: the driver answers with the
// recorded addresses, has no memory where the recording got none, and every event
// that the allocator makes must be the recorded one. It proves that the allocator
// behaves as PyTorch's did in this trace, and is the conformance test of package
// alloc. The second repeats only the program's calls, allocations and frees, on
// an allocator with other settings over a driver that only counts: it shows the
// effect of the settings. [Answer] does both.
//
// It imports no viewer: its result is a [whatif.Answer], and viewers get [Answer]
// as a function.
package replay
