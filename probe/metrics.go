package probe

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"memtop/snapshots/trace"
)

// openMetrics is the content type of /metrics.
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// serveMetrics answers with what a collector wants to know, as OpenMetrics.
func (p *Probe) serveMetrics(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", openMetrics)
	m := &metrics{w: bufio.NewWriter(p.newPaced(w))}
	p.writeMetrics(m)
	fmt.Fprint(m.w, "# EOF\n")
	_ = m.w.Flush() // a collector that has left needs no answer
	return nil
}

func (p *Probe) writeMetrics(m *metrics) {
	m.family("memtop_program", "info", "", "The program that is watched.")
	m.sample("_info", 1, "pid", strconv.Itoa(p.who.pid), "command", p.who.command, "user", p.who.user)
	p.memoryMetrics(m)
	p.stepMetrics(m)
	p.probeMetrics(m)
	p.gaugeMetrics(m)
}

func (p *Probe) memoryMetrics(m *metrics) {
	sums := make([]sum, len(p.rings))
	for _, device := range p.devices {
		sums[device] = sumOf(&p.base(device).state)
	}
	families := []struct {
		name, help string
		value      func(sum) int64
	}{
		{"allocated", "Bytes of blocks in use.", func(s sum) int64 { return s.allocated }},
		{"requested", "Bytes that the program asked for and has not freed.", func(s sum) int64 { return s.requested }},
		{"reserved", "Bytes held from the driver.", func(s sum) int64 { return s.reserved }},
	}
	for _, f := range families {
		m.family("memtop_"+f.name+"_bytes", "gauge", "bytes", f.help)
		for _, device := range p.devices {
			m.sample("", float64(f.value(sums[device])), "device", strconv.Itoa(device))
		}
	}
	m.family("memtop_events", "counter", "", "Events of the allocator.")
	for _, device := range p.devices {
		m.sample("_total", float64(p.rings[device].end()), "device", strconv.Itoa(device))
	}
}

func (p *Probe) stepMetrics(m *metrics) {
	s := p.steps.last()
	if s == nil {
		return
	}
	m.family("memtop_step", "gauge", "", "Number of the last training step.")
	m.sample("", float64(s.Number))
	m.family("memtop_step_duration_seconds", "gauge", "seconds", "How long the last step took.")
	m.sample("", seconds(s.Duration))
	m.family("memtop_step_loss", "gauge", "", "Loss of the last step.")
	m.sample("", s.Loss)
	device := strconv.Itoa(s.Device)
	m.family("memtop_step_peak_allocated_bytes", "gauge", "bytes", "Most bytes in use within the last step.")
	m.sample("", float64(s.PeakAllocated), "device", device)
	m.family("memtop_step_peak_reserved_bytes", "gauge", "bytes", "Most bytes held from the driver within the last step.")
	m.sample("", float64(s.PeakReserved), "device", device)
	m.family("memtop_category_bytes", "gauge", "bytes", "Requested bytes by purpose after the last step.")
	for _, a := range s.Categories {
		m.sample("", float64(a.Bytes), "device", device, "category", a.Name)
	}
}

func (p *Probe) probeMetrics(m *metrics) {
	cost, dropped := p.Cost()
	m.family("memtop_probe_cost_seconds", "counter", "seconds", "Time for which reporting held up the program.")
	m.sample("_total", seconds(cost))
	m.family("memtop_probe_viewers_seconds", "counter", "seconds", "Time spent on viewers, beside the program where it has cores to spare.")
	m.sample("_total", seconds(p.meter.busy.Load()))
	m.family("memtop_probe_dropped_events", "counter", "", "Events that somebody who watched was not told of.")
	m.sample("_total", float64(dropped))
	m.family("memtop_probe_dropped_steps", "counter", "", "Steps that somebody who watched was not told of.")
	m.sample("_total", float64(p.meter.droppedSteps.Load()))
	m.family("memtop_probe_viewers", "gauge", "", "Viewers that are watching.")
	m.sample("", float64(p.viewers.count()))
}

func (p *Probe) gaugeMetrics(m *metrics) {
	gauges, _ := p.gauges.read(p.o.Gauge)
	families := []struct {
		name, help string
		value      func(*trace.Gauge) int64
	}{
		{"total", "Bytes of memory that the device has.", func(g *trace.Gauge) int64 { return g.Total }},
		{"used", "Bytes of the device's memory that anybody uses.", func(g *trace.Gauge) int64 { return g.Used }},
		{"process", "Bytes of the device's memory that the program uses.", func(g *trace.Gauge) int64 { return g.Process }},
	}
	for _, f := range families {
		if len(gauges) > 0 {
			m.family("memtop_device_"+f.name+"_bytes", "gauge", "bytes", f.help)
		}
		for i := range gauges {
			if v := f.value(&gauges[i]); v >= 0 {
				m.sample("", float64(v), "device", strconv.Itoa(gauges[i].Device))
			}
		}
	}
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }

// metrics writes families of samples as OpenMetrics text.
type metrics struct {
	w    *bufio.Writer
	name string
}

// family begins a family; the samples that follow belong to it.
func (m *metrics) family(name, kind, unit, help string) {
	m.name = name
	fmt.Fprintf(m.w, "# TYPE %s %s\n", name, kind)
	if unit != "" {
		fmt.Fprintf(m.w, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(m.w, "# HELP %s %s\n", name, help)
}

// sample writes one value with its labels, name and value in turn.
func (m *metrics) sample(suffix string, value float64, labels ...string) {
	fmt.Fprint(m.w, m.name, suffix)
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprint(m.w, separator(i), labels[i], `="`, escapeLabel(labels[i+1]), `"`)
	}
	if len(labels) > 0 {
		fmt.Fprint(m.w, "}")
	}
	fmt.Fprintf(m.w, " %s\n", strconv.FormatFloat(value, 'g', -1, 64))
}

func separator(i int) string {
	if i == 0 {
		return "{"
	}
	return ","
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escapeLabel(s string) string { return labelEscapes.Replace(trace.PrintableLines(s)) }
