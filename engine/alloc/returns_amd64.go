package alloc

// walks says that the chain of frame pointers can be followed.
const walks = true

// returns writes the addresses that the calls under way return to, innermost
// first, as far as there is room. Functions that were inlined have none, so they
// are no stack, but they tell stacks apart, in less than a tenth of the time that
// runtime.Callers takes.
//
//go:noescape
func returns(pcs *stackKey)
