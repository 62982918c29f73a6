package alloc

import (
	"sync"
	"sync/atomic"

	"github.com/memtop/memtop/snapshots/trace"
)

// Allocator hands out the memory of one device. It is safe for concurrent use:
// one lock is held for the length of a call, also while the driver works.
type Allocator struct {
	mu     sync.Mutex
	driver Driver
	syncer Syncer // nil when the driver is none
	mapper Mapper // nil when the driver is none
	device int
	name   string
	rules  Rules

	config  config
	limited bool
	limit   int64 // of reserved bytes, when limited

	pools    poolPair
	private  []*privatePool
	unowned  poolTable   // those of them without users
	spares   poolTable   // those that serve when memory runs out
	diverted []diversion // requests that go to private pools now
	deferred []*block    // freed with uses while requests were diverted
	segments []*segment  // ascending addresses
	streams  []*stream   // by first use
	unused   []*block
	lost     []*block // never freed, see Lost
	serial   uint64   // of the last allocated block
	born     uint64   // blocks made
	made     uint64   // segments made
	stats    Stats
	pending  int // events outstanding on all streams

	names    *Names
	stacks   atomic.Bool
	history  history
	latest   trace.Event // where an event is built when the history keeps none
	recorder trace.Recorder
	onOOM    []func(*OOMError)

	clock clock
	now   int64 // microseconds since the epoch, of the call under way
}

// Options configure a new [Allocator]. The zero value is an allocator with
// PyTorch's defaults and no history.
type Options struct {
	// Device is the device's number in traces and statistics.
	Device int
	// Name is the device's name in messages, "device 0" when empty.
	Name string
	// Rules are those of a release of PyTorch.
	Rules Rules
	// Config is given to [Allocator.Configure].
	Config string
	// Limit is given to [Allocator.SetLimit] when it is not 0.
	Limit int64
	// History is how many events are kept, see [Allocator.SetHistory].
	History int
	// Stacks is given to [Allocator.SetStacks].
	Stacks bool
	// Names are the tables that tags and stacks are interned in. Allocators of
	// one program share theirs, so that their devices fit in one trace. nil
	// makes new ones.
	Names *Names
	// Recorder receives every event; nil for none.
	Recorder trace.Recorder
}

// New returns an allocator for the driver's device, which no other program code
// may use. The only error is a [ConfigError].
func New(d Driver, o Options) (*Allocator, error) {
	a := &Allocator{
		driver: d, device: o.Device, name: o.Name, rules: o.Rules, config: defaultConfig(),
		pools: o.Rules.newPoolPair(nil), names: o.Names, recorder: o.Recorder,
		clock: newClock(),
	}
	a.SetStacks(o.Stacks)
	a.syncer, _ = d.(Syncer)
	a.mapper, _ = d.(Mapper)
	if n, ok := d.(Neighbour); ok {
		n.SetEmptyCache(a.EmptyCache)
	}
	if a.name == "" {
		a.name = deviceName(o.Device)
	}
	if a.names == nil {
		a.names = NewNames()
	}
	if err := a.Configure(o.Config); err != nil {
		return nil, err
	}
	if o.Limit != 0 {
		a.SetLimit(o.Limit)
	}
	a.SetHistory(o.History)
	return a, nil
}

// Device returns the device's number.
func (a *Allocator) Device() int { return a.device }

// Hide removes the frames of the package with that import path from the inner end
// of new stacks. Use it for a package that allocates for its callers: then a
// stack begins with the caller that wanted the memory. Safe for concurrent use.
func (a *Allocator) Hide(packagePath string) { a.names.hide(packagePath + ".") }

// Names returns the tables that the allocator's events refer to.
func (a *Allocator) Names() *Names { return a.names }

// SetLimit lets the allocator reserve at most so many bytes. A request that
// would need more fails without asking the driver. It does not give back what
// is reserved already. Safe for concurrent use.
func (a *Allocator) SetLimit(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limited, a.limit = true, max(0, bytes)
}

// SetUnlimited lets the allocator reserve all that the driver gives, or the
// fraction in its settings. Safe for concurrent use.
func (a *Allocator) SetUnlimited() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limited = false; a.config.fraction >= 0 {
		a.setFraction(a.config.fraction)
	}
}

// SetFraction limits the allocator to a part of the device's total memory,
// clamped to between 0 and 1. Safe for concurrent use.
func (a *Allocator) SetFraction(f float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setFraction(f)
}

func (a *Allocator) setFraction(f float64) {
	_, total := a.driver.MemInfo()
	a.limited, a.limit = f < 1 || !a.rules.wholeIsEndless(), int64(min(max(f, 0), 1)*float64(total))
}

// Limit returns how many bytes may be reserved, and whether that is limited.
// Safe for concurrent use.
func (a *Allocator) Limit() (bytes int64, limited bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limit, a.limited
}

// NotifyOOM makes the allocator call f after every request that failed for lack
// of memory, before the request returns its error. f runs on the goroutine of the
// request and may use the allocator, for example to save a snapshot at the moment
// that matters. Safe for concurrent use.
func (a *Allocator) NotifyOOM(f func(*OOMError)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onOOM = append(a.onOOM, f)
}

// stream is the allocator's state of one stream of the device.
type stream struct {
	handle  Stream
	id      trace.StreamID
	waiting []waiting // oldest first
}

// streamOf returns the stream with that handle. Programs have few.
func (a *Allocator) streamOf(h Stream) *stream {
	for _, s := range a.streams {
		if s.handle == h {
			return s
		}
	}
	return a.newStream(h)
}

func (a *Allocator) newStream(h Stream) *stream {
	s := &stream{handle: h, id: a.names.stream(h)}
	a.streams = append(a.streams, s)
	return s
}
