package remote

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// Machines are the machines that the user named, each with one bridge for all
// requests. Safe for concurrent use; the fields are set before.
type Machines struct {
	Memtop string      // the program to run on them, "" for the one in the PATH there
	MayAsk func() bool // whether ssh may ask for a password
	Log    func() *slog.Logger

	mu     sync.Mutex
	byHost map[string]*entry
}

// entry is a machine that was reached, or failed to be.
type entry struct {
	once sync.Once
	far  *Machine
	err  error
}

// of returns the entry of a host.
func (m *Machines) of(host string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byHost == nil {
		m.byHost = make(map[string]*entry)
	}
	if m.byHost[host] == nil {
		m.byHost[host] = new(entry)
	}
	return m.byHost[host]
}

// Reached returns the reached machines, by name.
func (m *Machines) Reached() []attach.Machine {
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

// lookWithin is how long a machine may take to read gauges.
const lookWithin = 5 * time.Second

// Gauge reads the gauges of a process's devices on a reached machine.
func (m *Machines) Gauge(p attach.Process, devices []int) ([]trace.Gauge, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
	defer cancel()
	far := m.of(p.Host).far
	if far == nil {
		return nil, &attach.HostError{Host: p.Host, Cause: "memtop has closed the connection"}
	}
	return far.Gauge(ctx, p, devices)
}

// forget drops a host that could not be reached, so that it can be tried again.
func (m *Machines) forget(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byHost, host)
}

// Close ends all bridges.
func (m *Machines) Close() {
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

// Split divides HOST:PID. A name without a number means a choice on that host.
// The name of a file on this machine is no process on another one.
func Split(target string) (host, process string, ok bool) {
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

// On returns the machine of a target, and the target on that machine. The error
// is a [*NameError] or an [*attach.HostError].
func (m *Machines) On(ctx context.Context, target string) (attach.Machine, string, error) {
	host, process, ok := Split(target)
	if !ok {
		return attach.Here, target, nil
	}
	way, err := m.ssh(host, "memtop attach HOST:PID")
	if err != nil {
		return attach.Machine{}, process, err
	}
	there, err := m.reach(ctx, way, m.MayAsk())
	return there, process, err
}

// ssh returns the way to a host. The error of an invalid name has the remedy.
func (m *Machines) ssh(host, remedy string) (Way, error) {
	way, err := SSH(host, m.Memtop)
	if name := new(NameError); errors.As(err, &name) {
		name.Remedy = remedy
	}
	return way, err
}

// reach starts one bridge for all callers that ask for the machine. With ask, ssh
// may ask for a password.
func (m *Machines) reach(ctx context.Context, way Way, ask bool) (attach.Machine, error) {
	one := m.of(way.Host())
	one.once.Do(func() {
		one.far, one.err = Open(ctx, way, ask)
		m.Log().Info("bridge", "host", way.Host(), "error", one.err)
	})
	if one.err != nil {
		m.forget(way.Host())
		return attach.Machine{}, one.err
	}
	return attach.Through(one.far), nil
}

// reachAll starts bridges on many machines at a time. It then tries the machines
// that need a password again, one after another. The results are in the order of
// the machines.
func (m *Machines) reachAll(ctx context.Context, ways []Way) ([]attach.Machine, []error) {
	reached, failed := make([]attach.Machine, len(ways)), make([]error, len(ways))
	var all sync.WaitGroup
	for i, way := range ways {
		all.Go(func() { reached[i], failed[i] = m.reach(ctx, way, false) })
	}
	all.Wait()
	for i, err := range failed {
		if errors.Is(err, fs.ErrPermission) && m.MayAsk() {
			reached[i], failed[i] = m.reach(ctx, ways[i], true)
		}
	}
	return reached, failed
}

// Ways returns the ways to hosts, each once, or to the machines of a Slurm job if
// one is named. The error is a [*NameError] or an [*attach.HostError].
func (m *Machines) Ways(ctx context.Context, hosts []string, slurm string) ([]Way, error) {
	if slurm != "" {
		return Slurm(ctx, slurm, m.Memtop)
	}
	var ways []Way
	for _, host := range hosts {
		way, err := m.ssh(host, "memtop attach --hosts a,b,c")
		if err != nil {
			return nil, err
		}
		ways = append(ways, way)
	}
	slices.SortFunc(ways, func(a, b Way) int { return strings.Compare(a.Host(), b.Host()) })
	return slices.CompactFunc(ways, func(a, b Way) bool { return a.Host() == b.Host() }), nil
}

// Discover returns the processes of all these machines, and an error for each
// machine that did not answer.
func (m *Machines) Discover(ctx context.Context, ways []Way) ([]attach.Process, []error, error) {
	reached, failed := m.reachAll(ctx, ways)
	found := make([][]attach.Process, len(ways))
	var all sync.WaitGroup
	for i, there := range reached {
		if failed[i] == nil {
			all.Go(func() { found[i], failed[i] = there.Discover(ctx) })
		}
	}
	all.Wait()
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	return slices.Concat(found...), failed, ctx.Err()
}
