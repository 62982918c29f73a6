package attach

import (
	"context"
	"net"
	"path/filepath"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
)

// Place is a socket on which a program listens, found and checked as [Dial] does
// it. It is for callers that speak the protocol themselves. Safe for concurrent
// use.
type Place struct{ endpoint endpoint }

// Locate finds the socket of a target. The target and the errors are those of
// [Dial].
func Locate(ctx context.Context, target string) (Place, error) {
	e, err := locate(ctx, target)
	return Place{e}, err
}

// String names the process, or the socket if only that is known.
func (p Place) String() string { return p.endpoint.String() }

// Socket returns the path as seen from this process.
func (p Place) Socket() string { return p.endpoint.path() }

// PID returns the process's id in this process's namespace, 0 if the system does
// not say.
func (p Place) PID() int { return p.endpoint.pid }

// Connect makes all checks, then opens a connection.
func (p Place) Connect(ctx context.Context) (*net.UnixConn, error) { return p.endpoint.connect(ctx) }

// Process describes the process that listens there, without a request to it.
func (p Place) Process() Process { return p.endpoint.process() }

// ConditionOf returns the condition of the process in a socket's name.
func ConditionOf(pid int, socket string) Condition {
	_, start, named := protocol.ParseSocketName(filepath.Base(socket))
	return Condition{Runs: named && began(pid, start), Stopped: procfs.IsStopped(pid)}
}
