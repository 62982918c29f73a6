package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// The limits of a bridge's viewer, which opens a stream for each followed program
// and a few short ones.
const (
	mostStreams = 4096
	streamAhead = 64 << 10 // bytes of a request that wait for a program
)

// Silence is how long an end of a link may be silent before the other end pings
// it, and then how long it may take to answer. This is about links: a program's
// socket has its own limit of five seconds for a viewer that does not read.
const (
	silence = 4 * time.Second
	pings   = 5 * time.Second
)

// Options configure a bridge. The zero value is usable.
type Options struct {
	// Gauge reads the gauges of a program's devices. One goroutine calls it at a
	// time. It is nil if there is no source of gauges.
	Gauge func(p attach.Process, devices []int) ([]trace.Gauge, error)
}

// Serve is the far end of a link: it connects in and out with the programs of
// this machine, with the checks of package attach, until the other end has gone
// or ctx is done.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if err := greet(out); err != nil {
		return err
	}
	link := newPipe(in, out, func() {})
	server := &http.Server{
		Handler:     o.routes(),
		Protocols:   unencrypted(),
		BaseContext: func(net.Listener) context.Context { return ctx },
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: mostStreams, MaxReceiveBufferPerStream: streamAhead, SendPingTimeout: silence, PingTimeout: pings,
		},
		MaxHeaderBytes: protocol.MaxHeaderBytes,
		ErrorLog:       silent,
	}
	defer context.AfterFunc(ctx, func() { _ = link.Close(); _ = server.Close() })()
	if err := server.Serve(&only{pipe: link}); !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

func (o *Options) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+listPath, func(w http.ResponseWriter, r *http.Request) {
		all, err := attach.Discover(r.Context())
		reply(w, rowsOf(all), err)
	})
	mux.HandleFunc("GET "+locatePath, func(w http.ResponseWriter, r *http.Request) {
		place, err := attach.Locate(r.Context(), r.URL.Query().Get("target"))
		reply(w, rowOf(place.Process()), err)
	})
	mux.HandleFunc("GET "+conditionPath, func(w http.ResponseWriter, r *http.Request) {
		pid, socket := identity(r)
		reply(w, attach.ConditionOf(pid, socket), nil)
	})
	var looking sync.Mutex
	mux.HandleFunc("GET "+gaugesPath, func(w http.ResponseWriter, r *http.Request) {
		looking.Lock()
		defer looking.Unlock()
		seen, err := o.look(r)
		reply(w, seen, err)
	})
	mux.HandleFunc("POST "+connectPath, connect)
	return mux
}

// The requests that a bridge answers.
const (
	listPath      = "/bridge/processes"
	locatePath    = "/bridge/process"   // ?target=
	conditionPath = "/bridge/condition" // ?pid=&socket=
	gaugesPath    = "/bridge/gauges"    // ?pid=&socket=&device=, as many devices as there are
	connectPath   = "/bridge/connect"   // ?pid=&socket=; then the bytes of both directions
)

// errNoGauge means that a machine has no source of gauges.
var errNoGauge = errors.New("it has no driver to ask about its devices")

// look reads the gauges of a process's devices.
func (o *Options) look(r *http.Request) ([]trace.Gauge, error) {
	if o.Gauge == nil {
		return nil, errNoGauge
	}
	pid, socket := identity(r)
	var devices []int
	for _, text := range r.URL.Query()["device"] {
		if device, err := strconv.Atoi(text); err == nil && len(devices) < protocol.MaxDevices {
			devices = append(devices, device)
		}
	}
	return o.Gauge(attach.Process{PID: pid, Socket: socket}, devices)
}

func identity(r *http.Request) (pid int, socket string) {
	pid, _ = strconv.Atoi(r.URL.Query().Get("pid")) // no process has the id 0
	return pid, r.URL.Query().Get("socket")
}

// reply answers a request with a value, or with an error.
func reply(w http.ResponseWriter, value any, err error) {
	status := http.StatusOK
	if err != nil {
		status, value = http.StatusBadGateway, attach.Carry(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a viewer that has left needs no answer
}

// connect joins the request to the socket of a program, until one of the two
// ends.
func connect(w http.ResponseWriter, r *http.Request) {
	conn, err := connection(r)
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer context.AfterFunc(r.Context(), func() { _ = conn.Close() })()
	go func() { // ends when the request's body ends
		_, _ = io.Copy(conn, r.Body)
		_ = conn.Close()
	}()
	control := http.NewResponseController(w)
	_ = control.Flush() // the viewer waits for the news that there is a connection
	_, _ = io.Copy(flushing{w, control}, conn)
}

// connection connects to exactly the process that the viewer knows.
func connection(r *http.Request) (net.Conn, error) {
	pid, socket := identity(r)
	place, err := attach.Locate(r.Context(), strconv.Itoa(pid))
	if err == nil && place.Process().Socket != socket { // it has several sockets, or is another process
		place, err = attach.Locate(r.Context(), socket)
	}
	switch {
	case err != nil:
		return nil, err
	case place.PID() != pid:
		return nil, &attach.NotFoundError{Target: "process " + strconv.Itoa(pid)}
	}
	return place.Connect(r.Context())
}

// flushing sends everything at once.
type flushing struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write writes and sends.
func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}
