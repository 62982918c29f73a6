package remote

import (
	"log/slog"
	"net/http"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// row is a process, encoded for transport from another machine.
type row struct {
	PID     int             `json:"pid"`
	Socket  string          `json:"socket"`
	User    string          `json:"user"`
	Command string          `json:"command"`
	Info    *protocol.Info  `json:"info,omitempty"`
	Problem *attach.Carried `json:"problem,omitempty"`
}

func rowOf(p attach.Process) row {
	return row{p.PID, p.Socket, p.User, p.Command, p.Info, attach.Carry(p.Problem)}
}

func rowsOf(all []attach.Process) []row {
	rows := make([]row, len(all))
	for i := range all {
		rows[i] = rowOf(all[i])
	}
	return rows
}

// from returns the process that a machine sent, with printable texts.
func (r *row) from(host string) attach.Process {
	p := attach.Process{
		Host: host, PID: max(0, r.PID), Socket: trace.Printable(r.Socket), User: trace.Printable(r.User), Command: trace.Printable(r.Command), Info: r.Info,
	}
	switch {
	case r.Problem != nil:
		p.Info, p.Problem = nil, r.Problem.From(host)
	case r.Info == nil:
	case r.Info.Version != wire.Version:
		p.Info, p.Problem = nil, &wire.VersionError{Theirs: r.Info.Version, Ours: wire.Version}
	case r.Info.Malformed() != "":
		p.Info, p.Problem = nil, &attach.MalformedError{Who: "host " + host, What: "answer", Reason: r.Info.Malformed()}
	}
	return p
}

// unencrypted is HTTP/2 without TLS: ssh or srun already protects the connection.
func unencrypted() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// silent discards the log lines of both ends of HTTP/2. Their errors are
// returned.
var silent = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
