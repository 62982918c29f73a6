package alloc

// walks says that the chain of frame pointers can be followed.
const walks = true

// returns writes the addresses that the calls under way return to, innermost
// first, as far as there is room. Functions that were inlined have none, so it
// is not a stack, but it tells stacks apart, in a fortieth of the time that
// runtime.Callers takes.
//
//go:noescape
func returns(pcs *stackKey)
