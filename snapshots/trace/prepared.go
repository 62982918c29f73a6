package trace

// Prepared is memory that another core prepares while this one fills what it took
// before: it writes to all pages, so that nobody who fills them waits until the system
// has mapped them. It is for what becomes large. It is owned by one goroutine; the zero
// value is ready to use.
type Prepared[T any] struct{ next chan []T }

// Take returns n zero values, and has as many prepared for the next call, which must
// ask for as many.
func (p *Prepared[T]) Take(n int) []T {
	if p.next == nil {
		p.next = make(chan []T, 1)
		p.next <- make([]T, n)
	}
	next := p.next
	taken := <-next
	go func() {
		all := make([]T, n)
		clear(all) // make alone only reserves addresses
		next <- all
	}()
	return taken
}
