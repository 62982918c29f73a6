package sensor

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/hostmemory"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// gauge is a gauge as an agent sends it. One of the machine has only what the program
// knows of itself; what the kernel says is measured here.
type gauge struct {
	trace.Gauge
	Forked []int `json:"forked"` // processes that the program has forked, also those that have ended
}

// description is a program's description as an agent sends it.
type description struct {
	probe.Program
	Gauges []gauge `json:"gauges"`
}

// gauges takes in gauges.
func (a *agent) gauges(text []byte) error {
	var sent []gauge
	if err := json.Unmarshal(text, &sent); err != nil {
		return err
	}
	if i := slices.IndexFunc(sent, gauge.ofMachine); i >= 0 {
		a.machine, a.onHost = bytes.Clone(text), sent[i].Device != trace.HostDevice
	}
	a.relay.Gauges(a.measured(sent), len(text))
	return nil
}

func (g gauge) ofMachine() bool { return g.Host != nil }

// measured returns gauges with what the kernel says, without those that it says nothing of.
func (a *agent) measured(sent []gauge) []trace.Gauge {
	var all []trace.Gauge
	for i := range sent {
		g, known := &sent[i].Gauge, true
		switch {
		case g.Host != nil:
			if size, inMemory := a.relay.Box(); inMemory {
				g.Host.Box = int64(size)
			}
			known = a.ledger.Measure(g, sent[i].Forked)
		case g.Unified:
			total, available := hostmemory.Machine()
			g.Total, g.Used, known = total, total-available, total > 0
		}
		g.Users = g.Users[:min(len(g.Users), mostUsers)]
		for u := range g.Users {
			g.Users[u].Command = procfs.ShortCommand(g.Users[u].PID)
		}
		if known {
			all = append(all, *g)
		}
	}
	return all
}

// mostUsers is how many other processes on a device are kept.
const mostUsers = 256
