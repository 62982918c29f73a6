package probe

import (
	"net/http"
	"strconv"

	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
)

// serveMetrics answers with the program's metrics, in the format that the
// collector prefers.
func (p *Probe) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	format, ok := exposition.Negotiate(r.Header["Accept"])
	if !ok {
		return statusf(http.StatusNotAcceptable, "/metrics is %s", exposition.ContentTypes())
	}
	info := p.info()
	labels := []string{"pid", strconv.Itoa(info.PID), "command", info.Command, "user", info.User}
	if r := info.Rank; r != nil {
		labels = append(labels, "job_id", r.Job, "rank", strconv.Itoa(r.Rank))
	}
	families := append([]exposition.Family{{
		Name: "memtop_program", Kind: exposition.Info, Help: "The program that is watched.",
		Samples: []exposition.Sample{{Labels: labels, Value: 1}},
	}}, protocol.Metrics([]protocol.Measured{{Info: &info}})...)
	w.Header().Set("Content-Type", format.ContentType())
	w.Header().Set("Vary", "Accept")
	_ = exposition.Write(p.newPaced(w), format, families) // a collector that has left needs no answer
	return nil
}
