package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// How many of the largest rows are printed.
const (
	tensorLines = 10
	layerLines  = 10
)

// Text writes the state for people, in lines of at most width cells: first the
// problems, then the purposes of the memory, then its holders.
func (r *Live) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	l, on := r.index.Trace().Live, ""
	if l != nil && l.Host != "" {
		on = " on " + l.Host
	}
	p.line("Process %d%s, step %d, device %d", r.PID, on, r.Step, r.index.Device().ID)
	r.settingsText(p)
	if l != nil && l.Note != "" {
		p.wrap("  note: ", l.Note)
	}
	for _, notice := range r.index.Trace().Notices {
		p.wrap("  note: ", notice)
	}
	p.line("")
	findingLines(p, r.index.Findings())
	r.levelsText(p)
	r.waterfallText(p)
	r.hostText(p)
	r.Card.text(p)
	r.Host.text(p)
	r.layersText(p)
	r.tensorsText(p)
	if cost := r.Probe.CostNSPerStep; cost != nil && (*cost > 0 || r.Probe.DroppedEvents > 0) {
		p.line("")
		p.line("  The probe took %v of the last step and dropped %s.",
			time.Duration(*cost), quantity.Plural(int(r.Probe.DroppedEvents), "event"))
	}
	return p.w.Flush()
}

func (r *Live) settingsText(p *page) {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		all = append(all, key+"="+r.Settings[key])
	}
	if len(all) > 0 {
		p.wrap("  ", strings.Join(all, " "))
	}
}

func (r *Live) levelsText(p *page) {
	p.line("")
	since, allocated, reserved := "", "", ""
	if h := r.Highest; h != nil {
		since, allocated, reserved = "highest since "+sinceText[h.Since], quantity.Bytes(h.AllocatedBytes), quantity.Bytes(h.ReservedBytes)
	}
	p.line("  %-12s%12s%12s  %s", "", "now", "step's peak", since)
	p.line("  %-12s%12s%12s  %s", "allocated", known(r.AllocatedBytes), known(r.PeakAllocatedBytes), allocated)
	p.line("  %-12s%12s%12s  %s", "reserved", known(r.ReservedBytes), known(r.PeakReservedBytes), reserved)
	if g := r.Gauges; g != nil && g.DeviceTotalBytes != nil && g.DeviceUsedBytes != nil {
		p.line("  %-12s%12s of %s", "device", quantity.Bytes(*g.DeviceUsedBytes), quantity.Bytes(*g.DeviceTotalBytes))
	}
}

var sinceText = map[string]string{"program": "the program began", "watched": "memtop attached"}

// known writes bytes that may be unknown.
func known(bytes *int64) string {
	if bytes == nil {
		return "not known"
	}
	return quantity.Bytes(*bytes)
}

func (r *Live) waterfallText(p *page) {
	if r.Categories == nil {
		p.line("")
		p.wrap("  ", "What its memory is used for is not known yet: no whole step was looked at. Ask again after its next one.")
		return
	}
	whole := int64(0)
	for _, row := range r.Waterfall {
		whole += row.Bytes
	}
	p.line("")
	p.line("  What the device's %s are used for", quantity.Bytes(whole))
	for _, row := range r.Waterfall {
		if row.Bytes != 0 {
			p.line("  %-22s%12s %3d%%  %s", row.Name, quantity.Bytes(row.Bytes), analysis.Percent(row.Bytes, max(whole, 1)), bar(max(row.Bytes, 0), max(whole, 1), 30))
		}
	}
}

// hostText lists the memory that is on the host instead of the device.
func (r *Live) hostText(p *page) {
	whole, parts := int64(0), []string(nil)
	for _, row := range r.index.OnHost(r.index.End()) {
		whole += row.Bytes
		parts = append(parts, quantity.Bytes(row.Bytes)+" "+row.Name)
	}
	if parts == nil {
		return
	}
	p.wrap(fmt.Sprintf("  %-22s%12s  ", "on the host", quantity.Bytes(whole)), strings.Join(parts, ", "))
	if r.ToHostBytes+r.FromHostBytes > 0 {
		p.wrap(fmt.Sprintf("  %-22s%12s  ", "copied in a step", quantity.Bytes(r.ToHostBytes+r.FromHostBytes)),
			quantity.Bytes(r.ToHostBytes)+" to the host, "+quantity.Bytes(r.FromHostBytes)+" from it")
	}
}

func (r *Live) layersText(p *page) {
	if len(r.Layers) == 0 {
		return
	}
	layers := slices.Clone(r.Layers)
	slices.SortStableFunc(layers, func(a, b Layer) int { return int(min(max(b.SavedBytes-a.SavedBytes, -1), 1)) })
	p.line("")
	p.line("  Layers that saved most for the backward pass, of %d", len(layers))
	p.line("  %12s%12s%12s  %s", "saved", "output", "parameters", "layer")
	for _, l := range layers[:min(len(layers), layerLines)] {
		p.line("  %12s%12s%12s  %s %s", quantity.Bytes(l.SavedBytes), quantity.Bytes(l.OutputBytes), quantity.Bytes(l.ParameterBytes), l.Name, l.Class)
	}
}

func (r *Live) tensorsText(p *page) {
	if len(r.Tensors) == 0 {
		return
	}
	p.line("")
	p.line("  Largest live tensors, of %s", quantity.Count(len(r.Tensors)))
	p.line("  %12s%8s  %-12s%s", "bytes", "steps", "category", "tensor")
	for _, t := range r.Tensors[:min(len(r.Tensors), tensorLines)] {
		age := "-"
		if t.AgeSteps >= 0 {
			age = quantity.Count(int(t.AgeSteps))
		}
		p.line("  %12s%8s  %-12s%s %s %s", quantity.Bytes(t.Bytes), age, t.Category, t.Name, t.Shape, t.DType)
	}
}
