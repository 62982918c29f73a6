package attach

import (
	"context"
	"net"
	"time"
)

// Far leads to the programs of another machine. What makes a program there worth
// trusting is checked there, by this same package. Its errors are those that this
// package has here, or a [*HostError] when the machine is not reached. Safe for
// concurrent use.
type Far interface {
	// Name is how the user calls the machine.
	Name() string
	// Discover is [Discover] there.
	Discover(ctx context.Context) ([]Process, error)
	// Locate returns the program that a target of [Dial] means there, without its Info.
	Locate(ctx context.Context, target string) (Process, error)
	// Connect connects to that very program.
	Connect(ctx context.Context, p Process) (net.Conn, error)
	// Condition says how that very program does, as far as the system there knows.
	Condition(ctx context.Context, p Process) (Condition, error)
}

// Condition is how a process does.
type Condition struct {
	Runs    bool `json:"runs"`
	Stopped bool `json:"stopped"` // by a signal
}

// HostError says that a machine is not reached, or does not lead to its programs.
type HostError struct {
	Host, Cause, Remedy string // Host is empty where it is not known which machine it would be
	Because             error  // fs.ErrNotExist, fs.ErrPermission or a *wire.VersionError where it is one of these
}

// Error names the machine and the cause.
func (e *HostError) Error() string {
	if e.Host == "" {
		return e.Cause
	}
	return "host " + e.Host + ": " + e.Cause
}

// Unwrap returns what it is a case of, nil for nothing.
func (e *HostError) Unwrap() error { return e.Because }

// conditionWithin is how long a machine may take to say how a process does. It is
// asked when something went wrong already.
const conditionWithin = 3 * time.Second

// condition asks the other machine how the process does. One that does not say is no
// reason to take the process for ended.
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
	return isStopped(e.pid)
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

// site returns the machine that the program runs on.
func (e endpoint) site() site { return site{e.far} }

// onHost names the machine after the process, where it is not this one.
func (e endpoint) onHost() string {
	if e.far == nil {
		return ""
	}
	return " on " + e.far.Name()
}
