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

// What a bridge takes of its viewer, which opens a stream for each program that it
// follows and a few for a moment.
const (
	mostStreams = 4096
	streamAhead = 64 << 10 // bytes of a request that wait for a program
)

// Silence is how long either end of a link may be silent before it is asked whether
// it is there, and then how long it may take to answer. The program's socket gives up
// a viewer that takes nothing for five seconds; this is about links.
const (
	silence = 4 * time.Second
	pings   = 5 * time.Second
)

// Options say what a bridge has beside package attach. The zero value is usable.
type Options struct {
	// Gauge looks at a program's devices from outside; it is called by one goroutine at a
	// time. It is nil where there is nothing to look with.
	Gauge func(p attach.Process, devices []int) ([]trace.Gauge, error)
}

// Serve is the far end of a link: it leads from in and out to the programs of this
// machine, with the trust of package attach, until the other end has gone or ctx is
// done.
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

// errNoGauge is why a machine's devices are not looked at.
var errNoGauge = errors.New("there is nothing to look at its devices with")

// look looks at the devices of a process.
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
	pid, _ = strconv.Atoi(r.URL.Query().Get("pid")) // no process has 0
	return pid, r.URL.Query().Get("socket")
}

// reply answers a request by a value, or by the error that came of it.
func reply(w http.ResponseWriter, value any, err error) {
	status := http.StatusOK
	if err != nil {
		status, value = http.StatusBadGateway, attach.Carry(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a viewer that has left needs no answer
}

// connect joins the request to the socket of a program, until one of both ends.
func connect(w http.ResponseWriter, r *http.Request) {
	conn, err := connection(r)
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer context.AfterFunc(r.Context(), func() { _ = conn.Close() })()
	go func() { // ends with the request, whose body does then
		_, _ = io.Copy(conn, r.Body)
		_ = conn.Close()
	}()
	control := http.NewResponseController(w)
	_ = control.Flush() // the viewer waits to hear that there is a connection
	_, _ = io.Copy(flushing{w, control}, conn)
}

// connection connects to the very process that the viewer knows.
func connection(r *http.Request) (net.Conn, error) {
	pid, socket := identity(r)
	place, err := attach.Locate(r.Context(), strconv.Itoa(pid))
	if err == nil && place.Process().Socket != socket { // it has several, or is another one
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
