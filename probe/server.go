package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/cause"
	"github.com/memtop/memtop/snapshots/trace"
)

// Limits of what a peer may ask for or hold.
const (
	maxConnections  = 128
	maxTurnedAway   = 16                     // extra connections that the server answers at a time
	turnAwayWithin  = time.Second            // for the request on an extra connection
	turnAwayEvery   = 100 * time.Millisecond // the shortest time that an extra connection keeps its place
	maxBodyBytes    = 64 << 10
	maxViewerLength = 64 // of a viewer's name
)

// limits are how long a peer may take for each part.
type limits struct {
	request time.Duration // to send one
	reply   time.Duration // to take what was written
}

// filled returns l with defaults where it says nothing.
func (l limits) filled() limits {
	const patience = 5 * time.Second
	return limits{request: cmp.Or(l.request, patience), reply: cmp.Or(l.reply, patience)}
}

func (p *service) handle(routes map[string]map[string]handler, w http.ResponseWriter, r *http.Request) {
	err := p.admit(r)
	if err == nil {
		var h handler
		if h, err = route(routes, w, r); err == nil {
			err = h(w, r)
		}
	}
	if err != nil {
		p.o.Log.Debug("request refused", "method", r.Method, "path", r.URL.Path, "error", err)
		p.refuse(w, err)
	}
}

// admit refuses peers beyond the limit, and peers of other users. The folder
// already keeps other users out, unless its owner has opened it.
func (p *service) admit(r *http.Request) error {
	who, err := peerFrom(r.Context())
	switch {
	case who.tooMany:
		return statusf(http.StatusServiceUnavailable, "%d connections are open, all that its probe takes: close some of its viewers", maxConnections)
	case errors.Is(err, protocol.ErrNoPeer):
		return nil
	case err != nil:
		return statusf(http.StatusForbidden, "the system does not say which process is asking: %s", cause.Of(err))
	case !trusts(p.who.uid, who.UID):
		return statusf(http.StatusForbidden, "the program belongs to user %d and you are user %d: ask as that user or as root", p.who.uid, who.UID)
	}
	return nil
}

// trusts reports whether a process of user uid may talk to a process of user
// other: it may when that is the same user or root.
func trusts(uid, other int) bool { return other == uid || other == 0 }

func route(routes map[string]map[string]handler, w http.ResponseWriter, r *http.Request) (handler, error) {
	methods, ok := routes[r.URL.Path]
	if !ok {
		return nil, statusf(http.StatusNotFound, "there is nothing at %q: see docs/protocol.md", r.URL.Path)
	}
	if h, ok := methods[r.Method]; ok {
		return h, nil
	}
	allowed := make([]string, 0, len(methods))
	for m := range methods {
		allowed = append(allowed, m)
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return nil, statusf(http.StatusMethodNotAllowed, "%s takes %s", r.URL.Path, strings.Join(allowed, " and "))
}

// statusError is an error with its HTTP status.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func statusf(status int, format string, values ...any) error {
	return &statusError{status, fmt.Sprintf(format, values...)}
}

// refuse answers with one line of JSON: what is wrong, and what to do.
func (p *service) refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if e := (*statusError)(nil); errors.As(err, &e) {
		status = e.status
	}
	answer := map[string]string{"error": err.Error()}
	if e := (*protocol.HeldError)(nil); errors.As(err, &e) {
		status, answer["holder"] = http.StatusConflict, e.Holder
	}
	if status >= http.StatusInternalServerError || status == http.StatusForbidden {
		w.Header().Set("Connection", "close")
	}
	_ = p.reply(w, status, answer)
}

// reply answers with one line of JSON.
func (p *service) reply(w http.ResponseWriter, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(p.o.limits.reply))
	w.WriteHeader(status)
	_, _ = trace.PrintableJSON(w).Write(append(text, '\n')) // a failure means that the peer has left
	return nil
}

// readBody returns a request's body, which must be small and arrive at once.
func (p *service) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(p.o.limits.request)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, statusf(http.StatusRequestEntityTooLarge, "a request may have %d bytes", maxBodyBytes)
	}
	if err != nil {
		return nil, statusf(http.StatusRequestTimeout, "the request did not arrive: %s", cause.Of(err))
	}
	return body, control.SetReadDeadline(time.Time{})
}

type peerKey struct{}

// peerResult is the peer of a connection, or why it is unknown.
type peerResult struct {
	protocol.Peer
	err     error // why the peer is unknown
	tooMany bool
}

// withPeer asks the kernel once which process is at the other end of a
// connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	var result peerResult
	if b, ok := c.(*boundedConn); ok {
		result.Peer, result.err = protocol.PeerOf(b.UnixConn)
		result.tooMany = b.tooMany
	} else {
		result.err = protocol.ErrNoPeer
	}
	return context.WithValue(ctx, peerKey{}, result)
}

func peerFrom(ctx context.Context) (peerResult, error) {
	result, _ := ctx.Value(peerKey{}).(peerResult)
	return result, result.err
}

// viewerName returns the name that the viewer gives itself, or else names its
// process.
func viewerName(r *http.Request) (string, error) {
	name := r.Header.Get("Memtop-Viewer")
	if name == "" {
		who, _ := peerFrom(r.Context())
		return fmt.Sprintf("pid %d", who.PID), nil
	}
	printable := strings.IndexFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) < 0
	if len(name) > maxViewerLength || !printable {
		return "", statusf(http.StatusBadRequest, "Memtop-Viewer takes up to %d printable ASCII characters", maxViewerLength)
	}
	return name, nil
}
