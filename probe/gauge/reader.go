package gauge

import (
	"fmt"
	"slices"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// unknown is the value of a gauge that could not be read.
const unknown = -1

// card is a device as the driver sees it, a part of one where it is divided.
type card struct {
	uuid, name, bus                          string
	total, used                              int64 // bytes
	utilisation, temperature, powerMilliwatt int64 // unknown where the device does not say
	users                                    []user
	unlisted                                 string // why its processes are not known; "" if they are
	unread                                   string // why no more is known than its name; "" if it is
}

// user is a process on a card. Its bytes are unknown where the driver does not
// account for them.
type user struct {
	pid   int
	bytes int64
}

// library is where cards are read from: the driver's, or a test's.
type library interface {
	cards() ([]card, error)
	close() error
}

// Reader reads devices. It is owned by one goroutine.
type Reader struct {
	library library
	last    []card
	failed  error
	at      time.Time // when these two were read
}

// fresh is for how long what was read stands for all programs of a machine: to ask
// nvidia-smi for each of eight would take a second.
const fresh = 500 * time.Millisecond

// cards returns what the driver says, read now or just before.
func (r *Reader) cards() ([]card, error) {
	if r.at.IsZero() || time.Since(r.at) > fresh {
		r.last, r.failed = r.library.cards()
		r.at = time.Now()
	}
	return r.last, r.failed
}

// Open loads the driver's management library. The error says in one line why
// there is nothing to be read.
func Open() (*Reader, error) {
	l, err := open()
	if err != nil {
		return nil, err
	}
	return &Reader{library: l}, nil
}

// Close unloads the library.
func (r *Reader) Close() error { return r.library.close() }

// Read looks at the devices of a program once. Where it is not known which
// card a device is, that device has no gauge and the error says why; the gauges
// of the others are good.
func (r *Reader) Read(p Program) ([]trace.Gauge, error) {
	cards, err := r.cards()
	if err != nil {
		return nil, err
	}
	var gauges []trace.Gauge
	now := r.at.UnixMicro()
	for _, device := range p.Devices {
		c, reason := p.card(cards, device)
		if reason != "" {
			err = fmt.Errorf("device %d: %s", device, reason)
			continue
		}
		g := c.gauge(p.PID)
		g.Device, g.Time = device, now
		gauges = append(gauges, g)
	}
	return gauges, err
}

// Users returns the processes that use a device, as the driver counts them.
func (r *Reader) Users() ([]int, error) {
	cards, err := r.cards()
	var pids []int
	for _, c := range cards {
		for _, u := range c.users {
			pids = append(pids, u.pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// gauge returns what c says, from the view of a process.
func (c *card) gauge(pid int) trace.Gauge {
	g := trace.Gauge{
		Total: c.total, Used: c.used, Process: unknown,
		Utilisation: c.utilisation, Temperature: c.temperature, Power: c.powerMilliwatt,
	}
	for _, u := range c.users {
		switch {
		case u.pid == pid:
			g.Process = u.bytes
		case u.bytes == unknown || g.Others == unknown:
			g.Others = unknown
		default:
			g.Others += u.bytes
		}
	}
	return g
}

// uses reports whether the driver knows of the process on this card.
func (c *card) uses(pid int) bool {
	for _, u := range c.users {
		if u.pid == pid {
			return true
		}
	}
	return false
}
