package attach

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// DialOptions say how to follow a program. The zero value is usable.
type DialOptions struct {
	// Interval is how often the program sends what is new, 0 for 100 ms.
	Interval time.Duration
	// ReadOnly refuses every change here, so that none is ever sent.
	ReadOnly bool
	// Viewer is the name that other viewers see when this one changes settings, up
	// to 64 printable ASCII characters; empty is a name with this process's pid.
	Viewer string
	// Gauge looks at the program's devices from outside, every second, on a
	// goroutine of the client's, which Close does not wait for longer than a
	// second; nil when there is nothing to look with. The error says why there is
	// nothing to see.
	Gauge func(p Process, devices []int) ([]trace.Gauge, error)
	// Memory is how many bytes may be kept of the program, 0 for what suits a
	// screen.
	Memory int64
	// NoRestart says that the program's restart is another program: the client
	// stays with what it dialled.
	NoRestart bool

	quiet time.Duration // for how long a program may say nothing, 0 for maxQuiet
}

// Client follows a running program. It is a [trace.Growing] and a
// [trace.Controller], and safe for concurrent use.
//
// When the connection is lost while the program runs, the client comes back by
// itself, and a [trace.Gap] shows what it missed. When the program ends, the
// last trace stays, its Live.Note says so, and Ended is closed. Should one other
// process then begin that is its restart, the client follows that one unless
// NoRestart says otherwise: its trace
// is another, with a Live.PID of its own and a gap at its begin that says which
// process it follows on.
type Client struct {
	o         DialOptions
	now       atomic.Pointer[target] // the one that is followed
	latest    atomic.Pointer[trace.Trace]
	changed   chan struct{} // closed by run when nothing more will come
	published time.Time     // when latest was made; run's own
	ended     chan struct{} // closed by run when the first program has ended
	looked    chan struct{} // closed when look has returned, which it may never do
	cancel    context.CancelFunc
	all       sync.WaitGroup // run
	parted    sync.Once      // from look
}

// target is a program that a client follows. Only its gauges change.
type target struct {
	process  Process
	asker    *asker
	runs     func() bool // whether the process still does
	interval time.Duration
	minor    int           // the minor version that its stream is asked for
	quiet    time.Duration // for how long it may say nothing
	gauges   gaugeLog
	after    string    // which program it is a restart of, "" when it is of none
	since    time.Time // when it began to be followed
}

func (e endpoint) target(o DialOptions) *target {
	a := e.asker(o.Viewer)
	a.patience = cmp.Or(o.quiet, a.patience)
	return &target{
		process: e.process(), asker: a, runs: e.watch(),
		interval: o.Interval, minor: wire.Minor, quiet: cmp.Or(o.quiet, maxQuiet), since: time.Now(),
	}
}

// Dial attaches to a program: a pid, the path of a socket, or "" for the only
// one there is. It returns when the first state has come. The error is a
// [*NotFoundError], a [*PermissionError], a [*NoProbeError], a [*RefusedError], a
// [*SilentError], an [*EndlessError], a [*MalformedError] or a *wire.VersionError
// where it is one of these; ctx is for dialling only.
func Dial(ctx context.Context, target string, o DialOptions) (*Client, error) {
	return Here.Dial(ctx, target, o)
}

// Dial is described at [Machine].
func (m site) Dial(ctx context.Context, target string, o DialOptions) (*Client, error) {
	e, err := m.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	if o.Interval <= 0 {
		o.Interval = protocol.DefaultInterval
	}
	if o.Viewer == "" {
		o.Viewer = viewerName()
	}
	c := &Client{o: o, changed: make(chan struct{}, 1), ended: make(chan struct{}), looked: make(chan struct{})}
	if err := c.begin(ctx, e.target(o)); err != nil {
		return nil, e.orLeft(err)
	}
	return c, nil
}

// locate finds the socket that a target means, and makes sure that its process
// listens there.
func locate(ctx context.Context, target string) (endpoint, error) {
	e, err := resolve(ctx, target)
	if err != nil {
		return e, e.orEnded(err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := e.connect(ctx)
	if err != nil {
		return e, e.orLeft(e.orEnded(err))
	}
	if who, err := protocol.PeerOf(conn); err == nil && e.pid == 0 {
		e.pid = who.PID
	}
	return e, conn.Close()
}

func resolve(ctx context.Context, target string) (endpoint, error) {
	if target != "" {
		if pid, err := strconv.Atoi(target); err == nil && pid > 0 {
			return find(ctx, pid)
		}
		return endpointAt(target)
	}
	all, err := survey(ctx)
	if err != nil {
		return endpoint{}, err
	}
	var alive []endpoint
	for _, f := range all {
		if f.process.Problem == nil {
			alive = append(alive, f.endpoint)
		}
	}
	switch len(alive) {
	case 0:
		return endpoint{}, &NotFoundError{Target: "process that can be attached to"}
	case 1:
		return alive[0], nil
	}
	return endpoint{}, fmt.Errorf("%d processes can be attached to: name one", len(alive))
}

// process describes the process without asking the program.
func (e endpoint) process() Process {
	if e.far != nil {
		return e.there
	}
	return Process{
		PID: e.pid, Socket: trace.Printable(e.path()), User: userOf(e.uid), Command: commandOf(e.pid),
	}
}

// Process returns what the client is attached to now. Its Info is nil.
func (c *Client) Process() Process { return c.now.Load().process }

// Trace returns the newest trace. It never waits.
func (c *Client) Trace() *trace.Trace { return c.latest.Load() }

// Changed is described at [trace.Growing].
func (c *Client) Changed() <-chan struct{} { return c.changed }

// Ended returns a channel that is closed when the program that was dialled has
// ended: nothing more will be known of it, but perhaps of its restart.
func (c *Client) Ended() <-chan struct{} { return c.ended }

// Close lets go of the program and waits until nothing of the client runs any
// more, but for a Gauge that does not return within a second. Traces stay valid.
// It may be called again.
func (c *Client) Close() error {
	c.cancel()
	c.all.Wait()
	c.parted.Do(c.letGo)
	c.now.Load().asker.close()
	return nil
}

// errReadOnly is what a read-only client answers to every change.
var errReadOnly = &PermissionError{"this view is read-only", "attach without --read-only to change settings"}
