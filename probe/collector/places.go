package collector

import (
	"net"
	"net/http"
	"strconv"
	"sync"
)

// places bounds how many scrapers are connected. An idle scraper can lose its
// place: when all places are taken, a new scraper gets the place of the one that
// has been idle longest, which may connect again. Only when all scrapers are
// being answered, the new one is refused with an error. It is safe for concurrent
// use.
type places struct {
	mu     sync.Mutex
	turn   int64
	since  map[net.Conn]int64 // the turn at which an idle connection became idle
	asking map[net.Conn]bool
}

func newPlaces() *places {
	return &places{since: make(map[net.Conn]int64), asking: make(map[net.Conn]bool)}
}

// follow handles a connection's change of state.
func (p *places) follow(conn net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, conn)
	delete(p.asking, conn)
	switch state {
	case http.StateNew:
		if len(p.since)+len(p.asking) >= maxConnections {
			p.dismiss()
		}
		fallthrough
	case http.StateIdle:
		p.turn++
		p.since[conn] = p.turn
	case http.StateActive:
		p.asking[conn] = true
	default:
	}
}

// dismiss closes the connection that has been idle longest, if any.
func (p *places) dismiss() {
	var longest net.Conn
	for conn, since := range p.since {
		if longest == nil || since < p.since[longest] {
			longest = conn
		}
	}
	if longest != nil {
		delete(p.since, longest)
		_ = longest.Close() // the scraper sees it
	}
}

// bound answers, in place of h, scrapers without a place.
func (p *places) bound(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.taken() {
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusServiceUnavailable, "this server answers "+strconv.Itoa(maxConnections)+" scrapers at once, which all wait for it; ask again")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// taken reports whether more scrapers ask than there are places.
func (p *places) taken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asking) > maxConnections
}
