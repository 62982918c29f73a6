package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/trace"
)

// machines are those that the user named, each with one bridge for all that is asked
// of it. Safe for concurrent use.
type machines struct {
	mu     sync.Mutex
	byHost map[string]*machine
}

// machine is one that is reached, or was not.
type machine struct {
	once sync.Once
	far  *remote.Machine
	err  error
}

// of returns the entry of a host.
func (m *machines) of(host string) *machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byHost == nil {
		m.byHost = make(map[string]*machine)
	}
	if m.byHost[host] == nil {
		m.byHost[host] = new(machine)
	}
	return m.byHost[host]
}

// reached returns those that are reached, by name.
func (m *machines) reached() []attach.Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []attach.Machine
	for _, host := range slices.Sorted(maps.Keys(m.byHost)) {
		if far := m.byHost[host].far; far != nil {
			list = append(list, attach.Through(far))
		}
	}
	return list
}

// lookWithin is how long a machine may take to look at devices.
const lookWithin = 5 * time.Second

// gauges looks at the devices of a process on a machine that is reached.
func (m *machines) gauges(p attach.Process, devices []int) ([]trace.Gauge, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
	defer cancel()
	far := m.of(p.Host).far
	if far == nil {
		return nil, &attach.HostError{Host: p.Host, Cause: "it was let go"}
	}
	return far.Gauge(ctx, p, devices)
}

// forget drops a host that was not reached, so that it can be tried again.
func (m *machines) forget(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byHost, host)
}

// close ends all bridges.
func (m *machines) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all sync.WaitGroup
	for _, one := range m.byHost {
		if one.far != nil {
			all.Go(one.far.Close)
		}
	}
	all.Wait()
	m.byHost = nil
}

// remoteFlags adds the flag of commands that go to other machines.
func (a *app) remoteFlags(f *pflag.FlagSet) {
	f.StringVar(&a.settings.remoteMemtop, "remote-memtop", "", "the memtop to run on other machines, a `PATH` there (default the one in its PATH)")
}

// splitHost divides HOST:PID; a name without a number means a choice there. What is a
// file here is no process elsewhere.
func splitHost(target string) (host, process string, ok bool) {
	at := strings.LastIndexByte(target, ':')
	if at <= 0 || strings.Contains(target[:at], "/") {
		return "", target, false
	}
	if _, err := os.Lstat(target); err == nil {
		return "", target, false
	}
	host, process = target[:at], target[at+1:]
	if _, err := strconv.ParseUint(process, 10, 31); err != nil && process != "" {
		return "", target, false
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), process, true
}

// on returns the machine that a target is on, and what it means there.
func (a *app) on(ctx context.Context, target string) (attach.Machine, string, error) {
	host, process, ok := splitHost(target)
	if !ok {
		return attach.Here, target, nil
	}
	m, err := a.machine(ctx, host, a.mayAsk())
	return m, process, err
}

// machine returns a machine that the user named. With ask, ssh may ask for a password.
func (a *app) machine(ctx context.Context, host string, ask bool) (attach.Machine, error) {
	way, err := remote.SSH(host, a.settings.remoteMemtop)
	if err != nil {
		return nil, command.Usage(err.Error(), "memtop attach HOST:PID")
	}
	return a.reach(ctx, way, ask)
}

// reach starts a bridge once for all who ask for the machine.
func (a *app) reach(ctx context.Context, way remote.Way, ask bool) (attach.Machine, error) {
	one := a.machines.of(way.Host())
	one.once.Do(func() {
		one.far, one.err = remote.Open(ctx, way, ask)
		a.log.Info("bridge", "host", way.Host(), "error", one.err)
	})
	if one.err != nil {
		a.machines.forget(way.Host())
		return nil, one.err
	}
	return attach.Through(one.far), nil
}

// mayAsk reports whether ssh may ask the user for a password: there is a terminal, and
// no screen on it.
func (a *app) mayAsk() bool { return a.display.Load() == nil && isTerminal(a.stderr) }

// reachAll starts bridges on many machines at a time. Where a password is needed they
// are gone to again, one after another. Each machine or its error is in its place.
func (a *app) reachAll(ctx context.Context, ways []remote.Way) ([]attach.Machine, []error) {
	reached, failed := make([]attach.Machine, len(ways)), make([]error, len(ways))
	var all sync.WaitGroup
	for i, way := range ways {
		all.Go(func() { reached[i], failed[i] = a.reach(ctx, way, false) })
	}
	all.Wait()
	for i, err := range failed {
		if errors.Is(err, fs.ErrPermission) && a.mayAsk() {
			reached[i], failed[i] = a.reach(ctx, ways[i], true)
		}
	}
	return reached, failed
}
