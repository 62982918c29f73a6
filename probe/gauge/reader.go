package gauge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/memtop/memtop/snapshots/hostmemory"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// unknown is the value of a gauge that could not be read.
const unknown = -1

// card is a device as the driver sees it: a card, or an instance of a divided
// card.
type card struct {
	uuid, name, bus                          string
	total, used                              int64 // bytes
	utilisation, temperature, powerMilliwatt int64 // unknown if the device does not say
	users                                    []user
	unlisted                                 string // why its processes are unknown; "" if they are known
	unread                                   string // why only its name is known; "" if it was read
	unified                                  bool   // it has no memory of its own: the figures are the machine's
}

// user is a process on a card. Its bytes are unknown if the driver does not
// account for them.
type user struct {
	pid   int
	bytes int64
}

// library reads cards: it is the driver's library, or one of a test.
type library interface {
	cards() ([]card, error)
	close() error
}

// Reader reads the gauges of devices. One goroutine owns it.
type Reader struct {
	library library
	last    []card
	failed  error
	at      time.Time // when these two were read
}

// fresh is how long all programs of a machine share one reading: a call of
// nvidia-smi for each of eight programs would take a second.
const fresh = 500 * time.Millisecond

// cards returns the cards, read now or just before.
func (r *Reader) cards() ([]card, error) {
	if r.at.IsZero() || time.Since(r.at) > fresh {
		r.last, r.failed = r.library.cards()
		r.at = time.Now()
	}
	return r.last, r.failed
}

// Open loads the driver's management library. The error says in one line why
// gauges cannot be read.
func Open() (*Reader, error) {
	l, err := open()
	if err != nil {
		return nil, err
	}
	return &Reader{library: l}, nil
}

// Close unloads the library.
func (r *Reader) Close() error { return r.library.close() }

// Read reads the devices of a program once. If the card of a device is unknown,
// that device has no gauge and the error says why; the other gauges are valid.
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

// Card is a device of the machine with its processes: a card, or an instance of a divided card. Sizes are bytes.
type Card struct {
	Name, UUID, Bus string
	Total, Used     int64
	Unified         bool   // it has no memory of its own: the figures are the machine's
	Users           []User // of any user, by the driver's process ids
	Problem         string // why its processes, or all but its name, are unknown; "" if they are known
}

// User is a process on a card, with -1 bytes if the driver does not account for them.
type User struct {
	PID   int
	Bytes int64
}

// Cards returns all devices, in the driver's order.
func (r *Reader) Cards() (all []Card, err error) {
	cards, err := r.cards()
	for _, c := range cards {
		one := Card{Name: c.name, UUID: c.uuid, Bus: c.bus, Total: c.total, Used: c.used, Unified: c.unified, Problem: cmp.Or(c.unread, c.unlisted)}
		for _, u := range c.users {
			one.Users = append(one.Users, User{u.pid, u.bytes})
		}
		all = append(all, one)
	}
	return all, err
}

// Users returns the processes that use a device, by the driver's process ids.
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

// unify gives a card without memory of its own that of the machine: on a GB10 or a
// Jetson both processors use the same. It returns the card with the driver's words if
// the machine does not say what it has.
func (c card) unify(said string) card {
	total, available := hostmemory.Machine()
	if total == 0 {
		c.unread = said
		return c
	}
	c.total, c.used, c.unified = total, total-available, true
	return c
}

// gauge returns the gauge of c for a process.
func (c *card) gauge(pid int) trace.Gauge {
	g := trace.Gauge{
		Total: c.total, Used: c.used, Unified: c.unified, Process: unknown,
		Utilisation: c.utilisation, Temperature: c.temperature, Power: c.powerMilliwatt,
	}
	for _, u := range c.users {
		if u.pid != pid {
			g.Users = append(g.Users, trace.User{PID: u.pid, Bytes: u.bytes, Command: procfs.ShortCommand(u.pid)})
		}
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

// uses reports whether the driver lists the process on this card.
func (c *card) uses(pid int) bool {
	return slices.ContainsFunc(c.users, func(u user) bool { return u.pid == pid })
}
