package conformance

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
)

// examineMetrics reads the metrics in each format, and compares them with
// /v1/info before and after.
func (e *examination) examineMetrics(ctx context.Context) {
	if !e.can(protocol.CapabilityMetrics) {
		return
	}
	e.refused(ctx, &refusal{"http.406", request{method: http.MethodGet, path: "/metrics", accept: "image/png"}, http.StatusNotAcceptable})
	var crowd crowd
	defer func() { crowd.judge(e) }()
	for accept, format := range map[string]exposition.Format{
		"": exposition.OpenMetrics, "application/openmetrics-text; version=1.0.0": exposition.OpenMetrics,
		"text/plain": exposition.Text, "application/openmetrics-text;q=0.1, text/plain;q=0.9": exposition.Text,
	} {
		before, err := e.askInfo(ctx)
		if err != nil {
			return
		}
		a, err := e.viewer.ask(ctx, request{method: http.MethodGet, path: "/metrics", accept: accept})
		if err != nil {
			e.broken("metrics.format", "metrics", "%v", err)
			return
		}
		after, err := e.askInfo(ctx)
		if err != nil {
			return
		}
		want := format.ContentType()
		if !e.check("metrics.format", a.status == http.StatusOK && a.header.Get("Content-Type") == want, "status 200, Content-Type: "+want,
			"%v: status %d, Content-Type: %s", a.request, a.status, a.header.Get("Content-Type")) {
			continue
		}
		got, err := exposition.Parse(format, string(a.body))
		if e.check("metrics.format", err == nil, "a text by the letter of its format", "%v: %v", a.request, err) {
			e.compareMetrics(format, got, before, after, &crowd)
		}
	}
}

// crowd compares the counts of viewers. Viewers come and go during the requests,
// also those of the examination, so one equal count is enough.
type crowd struct {
	counted, agreed bool
	got, want       float64 // of the last count
}

// viewersMetric is the number of viewers.
const viewersMetric = "memtop_probe_viewers"

func (c *crowd) count(got, want float64) {
	c.counted, c.agreed = true, c.agreed || got == want
	c.got, c.want = got, want
}

func (c *crowd) judge(e *examination) {
	if c.counted {
		e.check("metrics.values", c.agreed, viewersMetric+" as in /v1/info", "%v, not %v, and another each time that it was asked for", c.got, c.want)
	}
}

// compareMetrics checks that the samples equal those of /v1/info.
func (e *examination) compareMetrics(format exposition.Format, got map[string]float64, before, after *protocol.Info, crowd *crowd) {
	low, high := samplesOf(format, before), samplesOf(format, after)
	still := before.Step == after.Step && sumsEqual(before, after)
	for name, least := range low {
		most, ok := high[name]
		if !ok {
			continue
		}
		value, there := got[name]
		if !e.check("metrics.values", there, "a sample of each number of /v1/info", "%s is missing", name) {
			continue
		}
		if name == viewersMetric {
			crowd.count(value, least)
			continue
		}
		counter := strings.Contains(name, "_total")
		if counter || still {
			e.check("metrics.values", !counter || value >= least*(1-rounding) && value <= most*(1+rounding), name+" between what /v1/info said before and after",
				"%v, not between %v and %v", value, least, most)
			e.check("metrics.values", counter || least != most || value == least, name+" as in /v1/info", "%v, not %v", value, least)
		}
	}
}

// rounding is by how much seconds may differ from nanoseconds, since writers
// divide in different ways.
const rounding = 1e-9

func sumsEqual(before, after *protocol.Info) bool {
	for i := range before.Devices {
		if i >= len(after.Devices) || before.Devices[i].Events != after.Devices[i].Events {
			return false
		}
	}
	return true
}

// samplesOf returns the metrics that a program with that info must have.
func samplesOf(format exposition.Format, i *protocol.Info) map[string]float64 {
	var text bytes.Buffer
	if exposition.Write(&text, format, protocol.Metrics([]protocol.Measured{{Info: i}})) != nil {
		return nil
	}
	samples, err := exposition.Parse(format, text.String())
	if err != nil {
		return nil // the info itself is wrong, which another check reports
	}
	return samples
}
