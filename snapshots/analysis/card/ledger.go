package card

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/analysis/ledger"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Rows that add up
//
// The driver says what is used of the device and, of that, what the program has. The
// program's part is divided in an order: PyTorch's pools, then what is known by
// measurement, by calls that were seen, and by arithmetic. Each row takes what it
// says, and at most what is left. If all calls are seen, the rest of the program's
// part is what the driver itself took for it; if they are not, the rest is all that
// PyTorch's allocator does not have. What the driver counts in no process's part is
// the row "unexplained".

// Kind says what a row is about.
type Kind uint8

// The kinds, in the order of the rows. Several rows may be of one kind.
const (
	Default Kind = iota
	Expandable
	Named // by the program's own allocator
	Private
	Context
	Library
	Communicator
	Rounding
	Managed
	Driver  // took it itself
	Outside // of PyTorch's allocator, and no more is known
	Imported
	Process
	Others
	Machine
	Unexplained
)

// Row is a part of a ledger.
type Row = ledger.Row[Kind]

// Ledger is what is used of a device's memory.
type Ledger struct {
	Bytes     int64           // as the driver counts them
	Total     int64           // that the device has, -1 if that is not known
	Unified   bool            // they are the machine's
	Unwatched bool            // calls of the driver are not seen, and memtop run --driver-calls would see them
	Cache     *trace.CacheUse // of a server, nil if none is known
	Rows      []Row           // they sum to Bytes; those of nothing are left out
	Asleep    int64           // bytes that PyTorch's allocator counts as reserved, and that the driver has back
	Slept     []Row           // whose bytes those are
}

// Reserved is what PyTorch's allocator has of the device, in the segments of each
// kind.
type Reserved struct {
	Default, Expandable, Private int64
	Pools                        int // that are private
}

func (r Reserved) all() int64 { return r.Default + r.Expandable + r.Private }

// Of returns the ledger of a moment: of a gauge whose used bytes are known.
func Of(g *trace.Gauge, r Reserved) Ledger {
	c := g.Card
	if c == nil {
		c = new(trace.Card)
	}
	d := division{ledger: Ledger{Bytes: g.Used, Total: g.Total, Unified: g.Unified, Unwatched: g.Card != nil && !c.Watched, Cache: c.Cache}, left: g.Used}
	d.own = g.Used - max(0, g.Others)
	if g.Process >= 0 {
		d.own = g.Process
	}
	d.pytorch(c, r)
	d.taken(c, max(0, g.Others))
	switch {
	case !c.Watched && !g.Unified:
		d.take(Outside, "outside the allocator", d.own, "")
	case g.Process >= 0:
		d.take(Driver, "kernels and graphs", d.own, "kernels' code, graphs and stacks, which the driver took itself")
	}
	d.others(g, c)
	if g.Unified {
		d.add(Machine, "all else on the machine", d.left, "")
	}
	d.add(Unexplained, "unexplained", d.left, "")
	slices.SortStableFunc(d.ledger.Rows, func(a, b Row) int { return cmp.Compare(a.Kind, b.Kind) })
	return d.ledger
}

// Beside returns what the program has beside PyTorch's allocator, and what other
// processes have.
func (l *Ledger) Beside() (own, others int64) {
	for _, r := range l.Rows {
		switch {
		case r.Kind >= Context && r.Kind <= Outside:
			own += r.Bytes
		case r.Kind > Outside && r.Kind < Unexplained:
			others += r.Bytes
		}
	}
	return own, others
}

// Share returns which part of the device vLLM may be told to use at most, in whole
// hundredths, as its gpu_memory_utilization, and the rows that are no part of it. It may
// use what is free when it begins to load: its context and NCCL are there by then, as
// others are. What it captures after that, its graphs, older versions do not plan. It
// reports false for other programs.
func (l *Ledger) Share() (hundredths int64, apart []Row, known bool) {
	room, named := l.Total, l.Asleep > 0 || l.Cache != nil && l.Cache.Server == trace.VLLM
	for _, r := range l.Rows {
		switch r.Kind {
		case Named:
			named = true
		case Private, Context, Communicator, Driver, Outside, Imported, Process, Others, Machine, Unexplained:
			room -= max(0, r.Bytes)
			apart = append(apart, r)
		}
	}
	if l.Total <= 0 || !named {
		return 0, nil, false
	}
	return max(0, room) * 100 / l.Total, apart, true
}

// InUse says how much of a server's cache of keys and values is in use, "" if that is not
// known.
func (l *Ledger) InUse() string {
	if l.Cache == nil || l.Cache.Size <= 0 {
		return ""
	}
	return fmt.Sprintf("%d %% in use", int64(100*float64(l.Cache.Used)/float64(l.Cache.Size)))
}

// division is a ledger in the making.
type division struct {
	ledger    Ledger
	own, left int64 // what is left of the program's part, and of all
}

// add adds a row, also one of less than nothing.
func (d *division) add(k Kind, name string, bytes int64, detail string) {
	if bytes != 0 {
		d.ledger.Rows = append(d.ledger.Rows, Row{Kind: k, Name: name, Bytes: bytes, Detail: detail})
	}
	d.left -= bytes
}

// take gives a row a part of the program's, as far as there is any left.
func (d *division) take(k Kind, name string, bytes int64, detail string) {
	d.add(k, name, ledger.Take(&d.own, bytes), detail)
}

// pytorch adds the rows of PyTorch's allocator. What it reserved may be asleep: the
// driver has it back, and only its addresses are kept.
func (d *division) pytorch(c *trace.Card, r Reserved) {
	d.ledger.Asleep = max(0, min(Asleep(c), r.all()))
	asleep := d.ledger.Asleep
	part := func(k Kind, name string, bytes, slept int64, detail string) {
		slept = min(slept, asleep, bytes)
		asleep -= slept
		d.own -= bytes - slept
		if slept > 0 {
			d.ledger.Slept = append(d.ledger.Slept, Row{Kind: k, Name: name, Bytes: slept})
		}
		d.add(k, name, bytes-slept, detail)
	}
	private := r.Private
	for i := range c.Tags {
		t := &c.Tags[i]
		bytes := ledger.Take(&private, t.Bytes)
		slept := asleep // of what is not known to be awake, all may sleep
		if t.Backed >= 0 {
			slept = max(0, bytes-t.Backed)
		}
		part(Named, "PyTorch, "+trace.Printable(t.Name), bytes, slept, "so the program's own allocator calls it")
	}
	pools := ""
	if r.Pools > 0 {
		pools = quantity.Plural(r.Pools, "pool") + ", of CUDA graphs or of the program"
	}
	part(Private, "PyTorch, private pools", private, asleep, pools)
	part(Expandable, "PyTorch, expandable", r.Expandable, asleep, "")
	part(Default, "PyTorch", r.Default, asleep, "")
}

// Asleep returns how much of what PyTorch's allocator reserved the driver had back, 0 if
// calls of the driver are not seen.
func Asleep(c *trace.Card) int64 {
	if c == nil || !c.Watched {
		return 0
	}
	backed := int64(0)
	for i := range c.Taken {
		backed += ofPyTorch(&c.Taken[i])
	}
	return max(0, c.Reserved-backed)
}

// taken adds the rows of what others than PyTorch's allocator took.
func (d *division) taken(c *trace.Card, others int64) {
	if c.Before > 0 {
		d.take(Context, "CUDA's context", c.Before-others, "as measured before the program took any memory")
	}
	var rounding, managed, nccl int64
	type library struct {
		name          string
		bytes, number int64
	}
	var libraries grouped.By[string, library]
	for i := range c.Taken {
		t := &c.Taken[i]
		name := libraryName(t.Library)
		switch outside := t.Bytes - ofPyTorch(t); {
		case t.Kind == trace.TakenManaged:
			managed += t.Bytes
			rounding += t.Round
		case !onDevice(t):
		case name == ncclName:
			nccl += outside
			rounding += t.Round
		case outside > 0:
			l := libraries.Of(name)
			*l = library{name, l.bytes + outside, l.number + t.Number}
			rounding += t.Round
		}
	}
	d.communicators(c.Communicators, nccl)
	slices.SortFunc(libraries.List, func(a, b library) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	for _, l := range libraries.List {
		d.take(Library, l.name, l.bytes, quantity.Plural(int(l.number), "allocation"))
	}
	d.take(Rounding, "rounded to pages", rounding, "")
	d.take(Managed, "managed memory", managed, "as far as it is on the device, at most")
}

// communicators adds NCCL's rows: by its calls if they are seen, divided by its
// formulas, else by the formulas alone.
func (d *division) communicators(all []trace.Communicator, seen int64) {
	left := seen
	for i := range all {
		c := &all[i]
		rings := int64(c.Channels) * c.Connection
		if seen > 0 {
			rings = ledger.Take(&left, rings)
		}
		detail := quantity.Plural(c.Ranks, "rank") + ", " + quantity.Plural(c.Channels, "channel") + " of " + quantity.Bytes(c.Connection)
		d.take(Communicator, ncclName+", group "+trace.Printable(c.Name), rings, detail)
	}
	if len(all) == 0 {
		d.take(Communicator, ncclName, left, "")
	} else {
		d.take(Communicator, ncclName+", all else", left, "connections between pairs of ranks, and its own")
	}
}

// others adds the rows of other processes. What the program has opened of theirs is
// in their part.
func (d *division) others(g *trace.Gauge, c *trace.Card) {
	opened := int64(0)
	for i := range c.Taken {
		if c.Taken[i].Kind == trace.TakenImported {
			opened += c.Taken[i].Bytes
		}
	}
	part := g.Others
	if part < 0 {
		part = 0
		for i := range g.Users {
			part += max(0, g.Users[i].Bytes)
		}
	}
	part = min(part, max(0, d.left))
	opened = ledger.Take(&part, opened)
	d.add(Imported, "opened of others", opened, "memory of other processes that this one uses too")
	for i := range g.Users {
		u := &g.Users[i]
		bytes := u.Bytes - ledger.Take(&opened, u.Bytes)
		d.add(Process, fmt.Sprintf("process %d", u.PID), ledger.Take(&part, bytes), trace.Printable(u.Command))
	}
	d.add(Others, "other processes", part, "")
}
