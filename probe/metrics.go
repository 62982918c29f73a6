package probe

import (
	"net/http"
	"slices"
	"strconv"

	"memtop/probe/exposition"
)

// serveMetrics answers with what a collector wants to know, in the format that
// it likes best.
func (p *Probe) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	format, ok := exposition.Negotiate(r.Header["Accept"])
	if !ok {
		return statusf(http.StatusNotAcceptable, "/metrics is %s", exposition.ContentTypes())
	}
	info := p.info()
	families := append([]exposition.Family{{
		Name: "memtop_program", Kind: exposition.Info, Help: "The program that is watched.",
		Samples: []exposition.Sample{{
			Labels: []string{"pid", strconv.Itoa(info.PID), "command", info.Command, "user", info.User}, Value: 1,
		}},
	}}, Metrics([]Measured{{Info: &info}})...)
	w.Header().Set("Content-Type", format.ContentType())
	w.Header().Set("Vary", "Accept")
	_ = exposition.Write(p.newPaced(w), format, families) // a collector that has left needs no answer
	return nil
}

// Measured is a program with the labels, names and values in turn, that each of
// its metrics has before its own.
type Measured struct {
	Labels []string
	Info   *Info
}

// Metrics returns what the programs say of themselves as families of metrics.
func Metrics(all []Measured) []exposition.Family {
	families := make([]exposition.Family, len(measures))
	for i, m := range measures {
		families[i] = exposition.Family{Name: m.name, Kind: m.kind, Unit: m.unit, Help: m.help}
		for _, program := range all {
			m.of(program.Info, func(value float64, labels ...string) {
				families[i].Samples = append(families[i].Samples, exposition.Sample{
					Labels: slices.Concat(program.Labels, labels), Value: value,
				})
			})
		}
	}
	return families
}
