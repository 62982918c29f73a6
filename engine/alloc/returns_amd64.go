package alloc

// walks says that the chain of frame pointers can be followed.
const walks = true

// returns writes the return addresses of the current calls, innermost first, as
// far as there is room. Inlined functions have none, so the addresses are no
// complete stack, but they tell stacks apart, in less than a tenth of the time of
// runtime.Callers.
//
//go:noescape
func returns(pcs *stackKey)
