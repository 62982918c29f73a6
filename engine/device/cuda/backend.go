package cuda

// Backend computes on the device, in the order of the calls. It belongs to one
// goroutine at a time.
type Backend struct{ *queue }
