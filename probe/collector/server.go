package collector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/exposition"
)

// Limits of what a scraper may ask for or hold.
const (
	maxConnections = 64
	maxHeaderBytes = 16 << 10
	readTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second // from the request on
	idleTimeout    = 3 * time.Minute  // longer than the usual pause between scrapes
	closeTimeout   = 500 * time.Millisecond
)

// Serve answers scrapers at l until ctx is done, which is no error. It closes l.
func (c *Collector) Serve(ctx context.Context, l net.Listener) error {
	all := newPlaces()
	server := &http.Server{
		Handler:     all.bound(c.handler(isLoopback(l.Addr()))),
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnState:      all.follow,
	}
	ended := make(chan struct{}) // closed when no connection is left
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		limited, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close() // cuts off scrapers that do not read
		}
	})
	err := server.Serve(l)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}

// isLoopback reports whether an address can be reached only from this machine.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback() // the other kinds are sockets in the file system
}

// handler answers requests. A request to a loopback server must name this machine
// as its host: a web page can make its own host name point here.
func (c *Collector) handler(local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case local && !isLocalName(r.Host):
			refuse(w, http.StatusForbidden, "this server is for programs on its own machine: ask for 127.0.0.1 or localhost")
		case r.URL.Path != "/metrics":
			refuse(w, http.StatusNotFound, "there is only /metrics here")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "/metrics takes GET")
		default:
			c.serveMetrics(w, r)
		}
	})
}

func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

func (c *Collector) serveMetrics(w http.ResponseWriter, r *http.Request) {
	format, ok := exposition.Negotiate(r.Header["Accept"])
	if !ok {
		refuse(w, http.StatusNotAcceptable, "/metrics is "+exposition.ContentTypes())
		return
	}
	families, err := c.Collect(r.Context(), within(r.Header))
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	w.Header().Set("Content-Type", format.ContentType())
	w.Header().Set("Vary", "Accept")
	_ = exposition.Write(w, format, families) // a scraper that has left needs no answer
}

// within returns how long a collection may take: the scraper's own limit, less a
// part for the transfer.
func within(header http.Header) time.Duration {
	const part = 0.8
	seconds, err := strconv.ParseFloat(header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || !(seconds > 0 && seconds*part < patience.Seconds()) {
		return patience
	}
	return time.Duration(seconds * part * float64(time.Second))
}

func refuse(w http.ResponseWriter, status int, cause string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, cause)
}
