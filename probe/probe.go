package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Source is what a program has to show. Its methods are called from the
// probe's own goroutines, several at a time.
type Source interface {
	// Devices returns the numbers of the devices, ascending. They never change.
	Devices() []int
	// Tables returns the tables that events and states refer to: at least what
	// was used before the call. They only grow from one call to the next.
	Tables() trace.Tables
	// State returns the device's memory as it is now. It calls at exactly once,
	// at that very moment: every event before the state was recorded before the
	// call of at and every later one after it. It records no event itself.
	State(device int, at func()) trace.State
	// Settings returns the allocator's settings.
	Settings() []trace.Setting
	// Observe passes every event from now on to the recorder; nil stops that.
	Observe(trace.Recorder)
}

// Counted is a [Source] that keeps count of what its memory adds up to. Viewers that put
// many programs side by side ask for that ten times a second.
type Counted interface {
	// Totals returns what the device's State would add up to now. It is called by
	// several goroutines.
	Totals(device int) Totals
}

// Totals is what the memory of a device adds up to, in bytes.
type Totals struct {
	Allocated int64 // by blocks that are handed out and not freed
	Requested int64 // by blocks that are in use, those too that are freed and wait for a stream
	Reserved  int64
}

// Control is what a program lets viewers change. Its methods are called from
// the probe's own goroutines: Set by one at a time, the others by several.
type Control interface {
	// Options returns what may be changed and the values that the next step
	// will use.
	Options() []trace.Option
	// Set changes a value from the next step on, or says in one line why not.
	// It must not wait for the step.
	Set(key, value string) error
	// Predict says what changes would do together, or returns nil when it is not
	// known. It may take long and must not hold up the program.
	Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error)
}

// Roomer is a [Control] that can also say how many samples at a time would fit into
// so many bytes, 0 for all that the device has, with some changes made. It returns
// nil when that is not known. It may take long and must not hold up the program.
type Roomer interface {
	Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error)
}

// Options are the details of a probe. The zero value is useful.
type Options struct {
	// Dir is the folder of the socket. Empty means $MEMTOP_DIR, else
	// $XDG_RUNTIME_DIR/memtop, else memtop-UID in the temporary folder, which is
	// where viewers look.
	Dir string
	// Path is the socket itself and overrides Dir. Its folder must be private
	// all the same.
	Path string
	// Control is what viewers may change; nil for nothing.
	Control Control
	// ReadOnly refuses all changes of all viewers, as the environment variable
	// MEMTOP_READ_ONLY does.
	ReadOnly bool
	// Gauge looks at the devices from outside of the program; nil when there is
	// nothing to look with. It is called only while a viewer watches, by one
	// goroutine at a time, and may take long.
	Gauge func() []trace.Gauge
	// Ring is how many of the last events of a device are kept for viewers,
	// 0 for DefaultRing. An event takes 40 bytes, from when it is recorded.
	Ring int
	// Program is how viewers see the program; empty means its command line.
	Program string
	// Writer says what records the events, such as "memtop's engine".
	Writer string
	// Rank is the program's place among those that were started with it; nil for one
	// that is alone.
	Rank *trace.Rank
	// Box is how many bytes the program's black box has, 0 for what the environment
	// variable MEMTOP_BLACK_BOX says or else DefaultBox; negative for none. See
	// docs/blackbox.md.
	Box int
	// BoxDir is the folder of the black box. Empty means what the environment
	// variable says, or else the socket's folder where that is in memory, or else
	// memtop-UID in /dev/shm. It must be private, as the socket's must.
	BoxDir string
	// Log gets a line when a viewer comes or goes, when a setting changes and when
	// something fails; nil for no log.
	Log *slog.Logger

	limits limits
}

// DefaultRing is how many events of a device a probe keeps.
const DefaultRing = 1 << 18

// Probe serves a program's memory until it is closed. All methods are safe for
// concurrent use; for Record see there.
type Probe struct {
	o       Options
	source  Source
	who     identity
	socket  *socket
	server  *http.Server
	devices []int
	rings   []*ring // by device; nil where there is none
	steps   stepRing
	layered []atomic.Int64 // by device: the time of the last step whose layers were kept
	meter   meter
	bases   []*sharedBase // by device, like rings
	tables  sharedTables
	changes changes
	gauges  sharedGauges
	viewers viewers
	saving  chan struct{}         // one item for each snapshot being written
	box     *box                  // nil without one
	boxless atomic.Pointer[error] // why there is none, where there should be one

	closing chan struct{} // closed by Close: sessions say goodbye
	once    sync.Once
	served  chan struct{} // closed when the server has returned
	failed  atomic.Pointer[error]
}

// Listen puts a probe into the program: it makes the socket, begins to observe
// the source and serves viewers until ctx is done or the probe is closed.
func Listen(ctx context.Context, o Options, s Source) (*Probe, error) {
	p, err := newProbe(o, s)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	if p.socket, err = listen(ctx, p.o, p.who); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	p.openBox()
	s.Observe(p) // first: what a viewer's state leads to must be recorded
	p.beginBox()
	p.serve()
	context.AfterFunc(ctx, func() { _ = p.Close() })
	return p, nil
}

func newProbe(o Options, s Source) (*Probe, error) {
	if o.Ring <= 0 {
		o.Ring = DefaultRing
	}
	o.limits, o.ReadOnly = o.limits.filled(), o.ReadOnly || protocol.ReadOnly()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Probe{
		o: o, source: s, who: self(o), devices: s.Devices(),
		saving:  make(chan struct{}, snapshotsAtOnce),
		closing: make(chan struct{}), served: make(chan struct{}),
	}
	if len(p.devices) == 0 {
		return nil, errors.New("the program has no device to show")
	}
	for _, device := range p.devices {
		if device < 0 || device >= protocol.MaxDevices {
			return nil, fmt.Errorf("device %d is not between 0 and %d", device, protocol.MaxDevices-1)
		}
		for len(p.rings) <= device {
			p.rings, p.bases = append(p.rings, nil), append(p.bases, nil)
		}
		p.rings[device], p.bases[device] = newRing(o.Ring), &sharedBase{}
	}
	p.layered = make([]atomic.Int64, len(p.rings))
	p.changes.init(o, &p.steps)
	return p, nil
}

// Path returns the socket's path.
func (p *Probe) Path() string { return p.socket.path }

// BlackBox returns the file of the program's black box, "" where it has none: because
// none is wanted, or for the reason in the error. A program loses its box when another cuts
// the file short.
func (p *Probe) BlackBox() (string, error) {
	if err := p.boxless.Load(); err != nil {
		return "", *err
	}
	if p.box == nil {
		return "", nil
	}
	return p.box.file.path, nil
}

// Close stops observing, sends every viewer its last events and that the program
// ends, and removes the socket, and the black box too, unless a request failed for
// lack of memory. It returns within a few seconds whatever viewers do. Later calls return when the first has.
func (p *Probe) Close() error {
	p.once.Do(func() {
		p.source.Observe(nil)
		p.viewers.end()
		close(p.closing)
		p.socket.remove()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if p.server.Shutdown(ctx) != nil {
			_ = p.server.Close() // viewers that do not read are cut off
		}
		p.viewers.wait()
		p.gauges.wait(closeTimeout)
		p.box.close()
	})
	<-p.served
	if err := p.failed.Load(); err != nil {
		return fmt.Errorf("probe: serve: %w", *err)
	}
	return nil
}

// closeTimeout is how long Close waits for viewers to take their last events.
const closeTimeout = time.Second

// identity is who the program is.
type identity struct {
	pid     int
	start   uint64 // as in the socket's name
	uid     int
	command string
	user    string
	host    string
	started int64 // microseconds since the epoch
}

func self(o Options) identity {
	who := identity{pid: os.Getpid(), uid: os.Geteuid(), command: o.Program, user: userName()}
	if who.command == "" {
		who.command = commandLine(os.Args, os.Getenv(protocol.CommandLineVariable))
	}
	who.start, who.started = startOfSelf()
	who.host, _ = os.Hostname() // only shown, and its absence can be seen
	return who
}
