package engine

import (
	"context"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// Listen puts a probe into a program that trains: viewers see the memory of the
// trainer's device and may change the trainer's settings, unless the options say
// otherwise. The program reports each step with Probe.Step and Trainer.Report, and
// closes the probe.
func Listen(ctx context.Context, o probe.Options, t *train.Trainer) (*probe.Probe, error) {
	d := t.Ctx().Home()
	if o.Control == nil {
		o.Control = control{t}
	}
	if o.Gauge == nil {
		o.Gauge = gauge(d)
	}
	if o.Writer == "" {
		o.Writer = "memtop's engine"
	}
	return probe.Listen(ctx, o, Source(d.Memory()))
}

// control implements probe.Control for a trainer.
type control struct{ *train.Trainer }

// Set changes a setting of the next step.
func (c control) Set(key, value string) error { return c.Change(key, value) }

// Source returns the probe's source for an allocator.
func Source(a *alloc.Allocator) probe.Source { return source{a} }

// source shows an allocator to a probe. The allocator and its tables are safe for
// concurrent use.
type source struct{ *alloc.Allocator }

// Totals is described at [probe.Counted].
func (s source) Totals(int) probe.Totals {
	stats := s.Stats()
	return probe.Totals{Allocated: stats.Allocated(), Requested: stats.RequestedBytes.All.Current, Reserved: stats.Reserved()}
}

func (s source) Devices() []int                     { return []int{s.Device()} }
func (s source) Tables() trace.Tables               { return s.Names().Tables() }
func (s source) State(_ int, at func()) trace.State { return s.Allocator.State(at) }
