package collector

import (
	"net"
	"net/http"
	"strconv"
	"sync"
)

// places bounds how many scrapers are connected. Who asks nothing holds no place: one
// that comes when all are taken has that of the scraper that has been waiting longest, of
// which each may come again. Only where all are being answered is there no place for
// it, and then it is told so. It is safe for concurrent use.
type places struct {
	mu     sync.Mutex
	turn   int64
	since  map[net.Conn]int64 // the turn at which one that asks nothing began to
	asking map[net.Conn]bool
}

func newPlaces() *places {
	return &places{since: make(map[net.Conn]int64), asking: make(map[net.Conn]bool)}
}

// follow takes what becomes of a connection.
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

// dismiss closes the connection that has been waiting longest, if one is.
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

// bound answers for h those for whom there is no place.
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

// taken reports whether more are asking than there are places.
func (p *places) taken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asking) > maxConnections
}
