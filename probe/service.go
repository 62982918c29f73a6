package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// service is what a [Probe] and a [Relay] have in common: a socket, a server, the
// viewers and the changes that they ask for.
type service struct {
	o       Options
	who     identity
	socket  *socket
	server  *http.Server
	steps   stepRing
	meter   meter
	changes changes
	viewers viewers
	learnt  atomic.Pointer[[]trace.Learnt] // what the last viewer told
	saving  chan struct{}                  // one item for each snapshot being written
	boxless atomic.Pointer[error]          // why there is no black box although the options want one

	closing chan struct{} // closed by end: sessions say goodbye
	once    sync.Once
	served  chan struct{} // closed when the server has returned
	failed  atomic.Pointer[error]
}

// shown is what a service shows of a program.
type shown interface {
	info() protocol.Info
	// stream sends a viewer the state, and what happens until the viewer has gone or
	// the program ends.
	stream(w http.ResponseWriter, r *http.Request, want wanted) error
	// snapshot returns the current memory.
	snapshot(ctx context.Context) (*trace.Trace, error)
}

func (p *service) init(o Options, who identity) {
	o.limits = o.limits.filled()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p.o, p.who = o, who
	p.saving = make(chan struct{}, snapshotsAtOnce)
	p.closing, p.served = make(chan struct{}), make(chan struct{})
	p.changes.init(o, &p.steps)
	p.viewers.changed = func() {}
}

// Path returns the socket's path.
func (p *service) Path() string { return p.socket.path }

// handler answers one request. An error becomes an answer of one line.
type handler func(http.ResponseWriter, *http.Request) error

func (p *service) routes(s shown) map[string]map[string]handler {
	return map[string]map[string]handler{
		"/v1/info": {http.MethodGet: func(w http.ResponseWriter, _ *http.Request) error {
			return p.reply(w, http.StatusOK, s.info())
		}},
		"/v1/stream": {http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
			return p.serveStream(w, r, s)
		}},
		"/v1/snapshot": {http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
			return p.serveSnapshot(w, r, s)
		}},
		"/v1/settings":   {http.MethodGet: p.serveSettings, http.MethodPost: p.serveSet},
		"/v1/prediction": {http.MethodGet: p.servePrediction},
		"/v1/learnt":     {http.MethodPost: p.serveLearnt},
	}
}

// serve begins to answer viewers.
func (p *service) serve(s shown) {
	routes := p.routes(s)
	p.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.handle(routes, w, r) }),
		ReadHeaderTimeout: p.o.limits.request,
		IdleTimeout:       protocol.IdleTimeout,
		MaxHeaderBytes:    protocol.MaxHeaderBytes,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(p.o.Log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(p.served)
		err := p.server.Serve(newBounded(p.socket))
		if !errors.Is(err, http.ErrServerClosed) {
			p.failed.Store(&err)
		}
	}()
}

// end sends every viewer its last events and a goodbye, and removes the socket.
func (p *service) end() {
	p.viewers.end()
	close(p.closing)
	p.socket.remove()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close() // cuts off viewers that do not read
	}
	p.viewers.wait()
}

// closeTimeout is how long end waits for viewers to read their last events.
const closeTimeout = time.Second

// result waits until the server has returned, and returns why it failed.
func (p *service) result() error {
	<-p.served
	if err := p.failed.Load(); err != nil {
		return fmt.Errorf("probe: serve: %w", *err)
	}
	return nil
}

// serveSnapshot answers with the current memory in PyTorch's format, a few viewers at
// a time.
func (p *service) serveSnapshot(w http.ResponseWriter, r *http.Request, s shown) error {
	select {
	case p.saving <- struct{}{}:
		p.viewers.changed()
		defer func() { <-p.saving; p.viewers.changed() }()
	case <-time.After(p.o.limits.reply):
		return statusf(http.StatusServiceUnavailable, "%d snapshots are being written already: try again in a moment", snapshotsAtOnce)
	case <-r.Context().Done():
		return nil // the viewer has gone
	case <-p.closing:
		return errEnding
	}
	t, err := s.snapshot(r.Context())
	if err != nil {
		return fmt.Errorf("making the snapshot: %w", err)
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="memtop-%d.pickle"`, p.who.pid))
	header.Set("Cache-Control", "no-store")
	if err := pytorch.Write(p.newPaced(w), t); err != nil {
		p.o.Log.Info("snapshot not finished", "error", err)
		panic(http.ErrAbortHandler) // an answer that just ends would look complete
	}
	return nil
}
