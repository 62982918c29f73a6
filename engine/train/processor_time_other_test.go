//go:build !linux

package train

// processorTime is the time of the wall, where no other is known.
var processorTime = monotonic
