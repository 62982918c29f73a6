package attach

import (
	"context"
	"net"
	"path/filepath"

	"github.com/memtop/memtop/probe/protocol"
)

// Place is a socket on which a program listens: found, and trusted as [Dial] trusts
// one. It is for those who speak the protocol by themselves. Safe for concurrent use.
type Place struct{ endpoint endpoint }

// Locate finds the socket that a target means. The target and the errors are those
// of [Dial].
func Locate(ctx context.Context, target string) (Place, error) {
	e, err := locate(ctx, target)
	return Place{e}, err
}

// String names the process, or the socket where only that is known.
func (p Place) String() string { return p.endpoint.String() }

// Socket returns the path that leads there from here.
func (p Place) Socket() string { return p.endpoint.path() }

// PID returns the process as this one counts, 0 where the system does not say.
func (p Place) PID() int { return p.endpoint.pid }

// Connect opens a connection, after all that is checked before a byte is sent.
func (p Place) Connect(ctx context.Context) (*net.UnixConn, error) { return p.endpoint.connect(ctx) }

// Process describes what listens there, without asking it.
func (p Place) Process() Process { return p.endpoint.process() }

// ConditionOf says how the process does that a socket is named for.
func ConditionOf(pid int, socket string) Condition {
	_, start, named := protocol.ParseSocketName(filepath.Base(socket))
	return Condition{Runs: named && began(pid, start), Stopped: isStopped(pid)}
}
