package main

import (
	"context"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/gauge"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// interval is a flag's pause between two reads of a process. A value outside of
// the bounds becomes the nearest bound.
type interval time.Duration

const (
	defaultInterval = 100 * time.Millisecond
	shortest        = 50 * time.Millisecond
	longest         = time.Minute
)

// String returns the interval in a form that Set reads.
func (i *interval) String() string { return time.Duration(*i).String() }

// Set reads an interval.
func (i *interval) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	*i = interval(min(max(d, shortest), longest))
	return nil
}

// Type names the flag's type in help.
func (i *interval) Type() string { return "DURATION" }

// liveFlags adds the flags of commands that follow a process.
func (s *settings) liveFlags(f *pflag.FlagSet) {
	s.intervalFlag(f)
	s.remoteFlags(f)
}

// remoteFlags adds the flag of commands that go to other machines.
func (s *settings) remoteFlags(f *pflag.FlagSet) {
	f.StringVar(&s.remoteMemtop, "remote-memtop", "", "`PATH` of memtop on other machines (default: found in PATH there)")
	settable(f, "remote-memtop")
}

// isLive reports whether an argument names a process: a number that is not also
// a file, a socket, or a number on another machine.
func isLive(arg string) bool {
	if _, _, there := remote.Split(arg); there {
		return true
	}
	info, err := os.Lstat(arg)
	if err != nil {
		_, err := strconv.ParseUint(arg, 10, 31)
		return err == nil
	}
	return info.Mode().Type() == fs.ModeSocket
}

// dialer finds processes and attaches to them, here and on other machines.
type dialer struct {
	*console
	machines *remote.Machines // others than this one
}

// dial attaches to a process: a pid, a socket, HOST:PID, or "" for the only one.
func (d *dialer) dial(ctx context.Context, target string) (*attach.Client, error) {
	return d.dialWith(ctx, target, attach.DialOptions{})
}

// dialWith is dial with options; the user's flags set the others.
func (d *dialer) dialWith(ctx context.Context, target string, o attach.DialOptions) (*attach.Client, error) {
	start := time.Now()
	o.Interval, o.ReadOnly = time.Duration(d.settings.interval), d.settings.readOnly
	m, process, err := d.machines.On(ctx, target)
	if err != nil {
		return nil, err
	}
	o.Gauge = d.gauges()
	c, err := m.Dial(ctx, process, o)
	if err != nil {
		d.log.Info("attach", "target", target, "error", err)
		return nil, err
	}
	d.log.Info("attach", "target", target, "took", time.Since(start), "pid", c.Process().PID, "socket", c.Process().Socket)
	return c, nil
}

// gauges returns a function that asks the driver about a process's devices. The
// first call loads the driver; if there is none, every call returns that error.
// For a process on another machine, the function asks the driver there.
func (d *dialer) gauges() func(attach.Process, []int) ([]trace.Gauge, error) {
	var reader *gauge.Reader
	var failed error
	return func(p attach.Process, devices []int) ([]trace.Gauge, error) {
		if p.Host != "" {
			return d.machines.Gauge(p, devices)
		}
		if reader == nil && failed == nil {
			reader, failed = gauge.Open()
			d.log.Info("driver", "error", failed)
		}
		if failed != nil {
			return nil, failed
		}
		return reader.Read(gauge.Program{PID: p.PID, Devices: devices, Environment: procfs.Environment(p.PID)})
	}
}
