package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Source is what a program has to show. Its methods are called from the
// probe's own goroutines, several at a time.
type Source interface {
	// Devices returns the numbers of the devices, ascending. They never change.
	Devices() []int
	// Tables returns the tables that events and states refer to: at least all
	// entries used before the call. They only grow from one call to the next.
	Tables() trace.Tables
	// State returns the device's memory as it is now. It calls at exactly once, at
	// that moment: every earlier event was recorded before the call of at, and every
	// later one is recorded after it. State itself records no event.
	State(device int, at func()) trace.State
	// Settings returns the allocator's settings.
	Settings() []trace.Setting
	// Observe passes every event from now on to the recorder; nil stops that.
	Observe(trace.Recorder)
}

// Counted is a [Source] that counts the totals of its memory. Viewers that show
// many programs side by side ask for them ten times a second.
type Counted interface {
	// Totals returns the totals of the device's current State. Several goroutines
	// may call it at once.
	Totals(device int) Totals
}

// Totals are the sums over the memory of a device, in bytes.
type Totals struct {
	Allocated int64 // of blocks that are allocated and not freed
	Requested int64 // of blocks in use, including freed ones that wait for a stream
	Reserved  int64
}

// Control lets viewers change a program's settings. Its methods are called from
// the probe's own goroutines: Set by one goroutine at a time, the others by
// several at once.
type Control interface {
	// Options returns the settings that viewers may change, with the values that the
	// next step will use.
	Options() []trace.Option
	// Set changes a value from the next step on. Its error says in one line why it
	// cannot. It must not wait for the step.
	Set(key, value string) error
	// Predict says what the changes would do together, or returns nil when it does
	// not know. It may take long and must not hold up the program.
	Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error)
}

// Timed is a [Control] that can also change a value from a step on that is named. Its
// error says why it cannot, for example because that step has begun.
type Timed interface {
	SetAt(key, value string, at int64) error
}

// Roomer is a [Control] that can also find the largest batch. It says how many
// samples at a time would fit into a capacity in bytes, with some changes made;
// the capacity 0 is the whole device. It returns nil when it does not know. It
// may take long and must not hold up the program.
type Roomer interface {
	Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error)
}

// Options are the details of a probe. The zero value is useful.
type Options struct {
	// Dir is the folder of the socket. Empty means $MEMTOP_DIR, else
	// $XDG_RUNTIME_DIR/memtop, else memtop-UID in the temporary folder. Viewers look
	// there.
	Dir string
	// Path is the path of the socket and overrides Dir. Its folder must be private
	// too.
	Path string
	// Control changes settings for viewers; with nil they can change none.
	Control Control
	// ReadOnly makes the probe refuse all changes, as the environment variable
	// MEMTOP_READ_ONLY does.
	ReadOnly bool
	// Gauge reads the devices' gauges, for example from the driver; nil for none.
	// The probe calls it only while a viewer watches, on one goroutine at a time. It
	// may take long.
	Gauge func() []trace.Gauge
	// Ring is how many of the last events of a device the probe keeps for viewers, 0
	// for DefaultRing. Each recorded event takes 40 bytes.
	Ring int
	// Program is the name that viewers show; empty means the command line.
	Program string
	// Writer names the software that records the events, such as "memtop's engine".
	Writer string
	// Rank is the program's place in its distributed job; nil for a single program.
	Rank *trace.Rank
	// Box is the size of the program's black box in bytes. 0 means the value of the
	// environment variable MEMTOP_BLACK_BOX, or else DefaultBox; a negative size
	// means no box. See docs/blackbox.md.
	Box int
	// BoxDir is the folder of the black box. Empty means the one in the environment
	// variable, or else the socket's folder if that is in memory, or else memtop-UID
	// in /dev/shm. The folder must be private, as the socket's folder must.
	BoxDir string
	// Log gets a line when a viewer attaches or leaves, when a setting changes and
	// when something fails; nil for no log.
	Log *slog.Logger

	limits   limits
	usualBox int     // bytes, 0 for DefaultBox
	wish     *string // the program's MEMTOP_BLACK_BOX, nil for that of this process
}

// DefaultRing is how many events of a device a probe keeps.
const DefaultRing = 1 << 18

// Probe serves a program's memory until it is closed. All methods except Record
// are safe for concurrent use.
type Probe struct {
	service
	source  Source
	devices []int
	rings   []*ring        // by device; nil for a number without a device
	layered []atomic.Int64 // by device: the time of the last step whose layers were kept
	bases   []*sharedBase  // by device, like rings
	tables  sharedTables
	gauges  sharedGauges
	box     *box // nil without a black box
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
	s.Observe(p) // first: a viewer's state needs all events after it
	p.beginBox()
	p.serve(p)
	context.AfterFunc(ctx, func() { _ = p.Close() })
	return p, nil
}

func newProbe(o Options, s Source) (*Probe, error) {
	if o.Ring <= 0 {
		o.Ring = DefaultRing
	}
	o.ReadOnly = o.ReadOnly || protocol.ReadOnly()
	p := &Probe{source: s, devices: s.Devices()}
	p.service.init(o, self(o))
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
	return p, nil
}

// BlackBox returns the file of the program's black box. It returns "" when there
// is none: because the options want none, or for the reason in the error. A
// program loses its box when another program cuts the file short.
func (p *Probe) BlackBox() (string, error) {
	if err := p.boxless.Load(); err != nil {
		return "", *err
	}
	if p.box == nil {
		return "", nil
	}
	return p.box.file.path, nil
}

// Close stops observing, sends every viewer its last events and a goodbye, and
// removes the socket. It also removes the black box, unless a request failed for
// lack of memory. It returns within a few seconds whatever viewers do. Later
// calls return when the first has returned.
func (p *Probe) Close() error {
	p.once.Do(func() {
		p.source.Observe(nil)
		p.end()
		p.gauges.wait(closeTimeout)
		p.box.close()
	})
	return p.result()
}

// identity identifies the program to viewers.
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
	who.host, _ = os.Hostname() // viewers only display it, so it may be empty
	return who
}
