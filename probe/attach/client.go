package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// DialOptions say how to follow a program. The zero value is usable.
type DialOptions struct {
	// Interval is how often the program sends news, 0 for 100 ms.
	Interval time.Duration
	// ReadOnly makes the client refuse every change, so that it never sends one.
	ReadOnly bool
	// Viewer is the name that other viewers see when this one changes settings: up
	// to 64 printable ASCII characters. Empty means a name with this process's pid.
	Viewer string
	// Gauge reads the gauges of the program's devices, for example from the driver;
	// nil for none. The client calls it every second on a goroutine of its own.
	// Close waits for that goroutine a second at most. The error says why there are
	// no gauges.
	Gauge func(p Process, devices []int) ([]trace.Gauge, error)
	// Memory bounds the bytes that the client keeps of the program, 0 for a bound
	// that suits a screen.
	Memory int64
	// NoRestart makes the client stay with the program that it dialled, and not
	// follow a restart.
	NoRestart bool

	quiet time.Duration // how long a program may be silent, 0 for maxQuiet
}

// Client follows a running program. It is a [trace.Growing] and a
// [trace.Controller], and safe for concurrent use.
//
// When the connection is lost while the program runs, the client reconnects by
// itself, and a [trace.Gap] shows what it missed. When the program ends, the last
// trace stays, its Live.Note says so, and Ended is closed. If exactly one process
// then starts that is its restart, the client follows it, unless NoRestart is
// set. That process has a new trace, with its own Live.PID and a gap at its begin
// that names the process before it.
type Client struct {
	o         DialOptions
	now       atomic.Pointer[target] // the program that the client follows
	latest    atomic.Pointer[trace.Trace]
	changed   chan struct{} // closed by run when no more traces will come
	published time.Time     // when latest was made; run's own
	ended     chan struct{} // closed by run when the first program has ended
	looked    chan struct{} // closed when look has returned; that may never happen
	cancel    context.CancelFunc
	all       sync.WaitGroup // run
	parted    sync.Once      // from look
}

// target is a program that a client follows. Only its gauges change.
type target struct {
	process  Process
	asker    *asker
	runs     func() bool // reports whether the process still runs
	interval time.Duration
	minor    int           // the minor version that the client asks for
	quiet    time.Duration // how long it may be silent
	gauges   gaugeLog
	after    string    // names the program that it restarts, "" if none
	since    time.Time // when the client began to follow it
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
// attachable one. It returns when the first state has arrived. The error is a
// [*NotFoundError], a [*PermissionError], a [*NoProbeError], a [*RefusedError], a
// [*SilentError], an [*EndlessError], a [*MalformedError] or a *wire.VersionError
// or another error; ctx is for dialling only.
func Dial(ctx context.Context, target string, o DialOptions) (*Client, error) {
	return Here.Dial(ctx, target, o)
}

// Dial is [Dial] on that machine. A program whose host is just ending closes the
// connection without a word: it is looked for again.
func (m Machine) Dial(ctx context.Context, target string, o DialOptions) (*Client, error) {
	for tries := 1; ; tries++ {
		c, err := m.dialOnce(ctx, target, o)
		if refused := (*RefusedError)(nil); tries == dialTries || !errors.As(err, &refused) || !refused.unanswered {
			return c, err
		}
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return c, err
		}
	}
}

// How often a program that closes the connection is looked for, and how long after.
const (
	dialTries = 3
	dialAgain = 200 * time.Millisecond
)

func (m Machine) dialOnce(ctx context.Context, target string, o DialOptions) (*Client, error) {
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

// locate finds the socket of a target, and checks that its process listens there.
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

// process describes the process, without a request to the program.
func (e endpoint) process() Process {
	if e.far != nil {
		return e.there
	}
	return Process{
		PID: e.pid, Socket: trace.Printable(e.path()), User: UserName(e.uid), Command: trace.Printable(procfs.Command(e.pid)),
	}
}

// Process returns the process to which the client is attached now. Its Info is
// nil.
func (c *Client) Process() Process { return c.now.Load().process }

// Trace returns the newest trace. It never waits.
func (c *Client) Trace() *trace.Trace { return c.latest.Load() }

// Changed is described at [trace.Growing].
func (c *Client) Changed() <-chan struct{} { return c.changed }

// Ended returns a channel that is closed when the dialled program has ended.
// Later traces can only be of its restart.
func (c *Client) Ended() <-chan struct{} { return c.ended }

// Close detaches from the program and waits for all goroutines of the client,
// except for a Gauge that does not return within a second. Traces stay valid.
// Close may be called again.
func (c *Client) Close() error {
	c.cancel()
	c.all.Wait()
	c.parted.Do(c.letGo)
	c.now.Load().asker.close()
	return nil
}

// errReadOnly is the error of every change on a read-only client.
var errReadOnly = &PermissionError{"this view is read-only", "attach without --read-only to change settings"}
