package attach

import (
	"context"
	"net"
	"time"

	"github.com/memtop/memtop/snapshots/procfs"
)

// Far reaches the programs of another machine. This same package runs on that
// machine and checks there whether a program can be trusted. The errors are those
// of this package, or a [*HostError] when the machine cannot be reached. Safe for
// concurrent use.
type Far interface {
	// Name is the user's name of the machine.
	Name() string
	// Discover is [Discover] on that machine.
	Discover(ctx context.Context) ([]Process, error)
	// Locate returns the program that a target of [Dial] names on that machine,
	// without its Info.
	Locate(ctx context.Context, target string) (Process, error)
	// Connect connects to exactly this program.
	Connect(ctx context.Context, p Process) (net.Conn, error)
	// Condition returns the condition of exactly this program, as far as that system
	// knows.
	Condition(ctx context.Context, p Process) (Condition, error)
}

// Condition says whether a process runs, and whether it is stopped.
type Condition struct {
	Runs    bool `json:"runs"`
	Stopped bool `json:"stopped"` // by a signal
}

// HostError says that a machine cannot be reached, or does not give access to its
// programs.
type HostError struct {
	Host, Cause, Remedy string // Host is empty if the machine is unknown
	Because             error  // fs.ErrNotExist, fs.ErrPermission, a *wire.VersionError or nil
}

// Error names the machine and the cause.
func (e *HostError) Error() string {
	if e.Host == "" {
		return e.Cause
	}
	return "host " + e.Host + ": " + e.Cause
}

// Unwrap returns Because.
func (e *HostError) Unwrap() error { return e.Because }

// conditionWithin is how long a machine may take to report a process's condition.
// The client asks only after something went wrong.
const conditionWithin = 3 * time.Second

// condition asks the other machine for the process's condition. If the machine
// does not answer, the process counts as running.
func (e endpoint) condition() Condition {
	ctx, cancel := context.WithTimeout(context.Background(), conditionWithin)
	defer cancel()
	if c, err := e.far.Condition(ctx, e.there); err == nil {
		return c
	}
	return Condition{Runs: true}
}

func (e endpoint) hasEnded() bool {
	if e.far != nil {
		return !e.condition().Runs
	}
	return hasEnded(e.pid)
}

func (e endpoint) isStopped() bool {
	if e.far != nil {
		return e.condition().Stopped
	}
	return procfs.IsStopped(e.pid)
}

// watch returns a function that reports whether the process that listens still runs.
func (e endpoint) watch() func() bool {
	if e.far != nil {
		return func() bool { return e.condition().Runs }
	}
	return watch(e.pid)
}

// open connects to the program.
func (e endpoint) open(ctx context.Context) (net.Conn, error) {
	if e.far != nil {
		return e.far.Connect(ctx, e.there)
	}
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// machine returns the machine that the program runs on.
func (e endpoint) machine() Machine { return Machine{e.far} }

// onHost names the machine after the process, if it is another machine.
func (e endpoint) onHost() string {
	if e.far == nil {
		return ""
	}
	return " on " + e.far.Name()
}
