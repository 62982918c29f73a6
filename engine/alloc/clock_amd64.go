package alloc

// counts says that the processor's counter has a constant rate.
var counts = invariantCounter()

// counter reads the processor's counter.
//
//go:noescape
func counter() uint64

// invariantCounter reports whether the processor promises that its counter never
// changes its rate and never stops.
//
//go:noescape
func invariantCounter() bool
