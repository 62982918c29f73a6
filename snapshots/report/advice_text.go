package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Text writes the advice for people.
func (r *Advice) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	p.line("%s", r.title())
	if r.Path != "" {
		for i := range r.Devices {
			r.device(p, &r.Devices[i])
		}
		return p.w.Flush()
	}
	useful := slices.DeleteFunc(slices.Clone(r.Options), func(o AdviceOption) bool { return o.Predicted.PeakAllocated >= 0 })
	if len(useful) == 0 {
		p.line("nothing that can be changed would make its memory less")
	} else {
		r.table(p, useful)
	}
	if others := r.useless(); others != "" {
		p.wrap("saves nothing: ", others)
	}
	if len(r.Unknown) > 0 {
		p.wrap("cannot be predicted: ", strings.Join(r.Unknown, ", "))
	}
	for _, device := range r.replayed() {
		label := "allocator: "
		if len(r.replayed()) > 1 {
			label = fmt.Sprintf("allocator of device %d: ", device)
		}
		r.allocator(p, label, device, "")
	}
	if r.Headroom != nil {
		p.wrap("headroom: ", proposals.RoomText(r.Headroom))
	}
	if err := p.w.Flush(); err != nil || r.Applied == nil {
		return err
	}
	return r.Applied.Text(w, width)
}

func (r *Advice) title() string {
	if len(r.Devices) > 1 {
		return fmt.Sprintf("%s: %d devices", r.Path, len(r.Devices))
	}
	if r.Path != "" {
		return fmt.Sprintf("%s: the peak is %s", r.Path, quantity.Bytes(r.PeakAllocated))
	}
	text := fmt.Sprintf("process %d, step %d: peak allocated %s", r.PID, r.Step, quantity.Bytes(r.PeakAllocated))
	if r.StepTime > 0 {
		text += ", " + quantityText(analysis.StepTimeQuantity, float64(r.StepTime)) + " a step"
	}
	return text
}

// device writes the advice about one device of a file.
func (r *Advice) device(p *page, d *AdviceDevice) {
	if len(r.Devices) > 1 {
		p.line("")
		p.line("device %d: the peak is %s", d.Device, quantity.Bytes(d.PeakAllocated))
	}
	proven := ofDevice(r.Options, d.Device, func(o *AdviceOption) int { return o.Device })
	if len(proven) == 0 {
		p.line("the stacks prove no saving")
	}
	for _, o := range proven {
		p.wrap(fmt.Sprintf("  %11s %5s  ", moved(analysis.PeakAllocatedQuantity, float64(o.Predicted.PeakAllocated)), proposals.ShareText(o.Predicted.PeakAllocated, d.PeakAllocated)),
			o.name+": "+o.Why)
	}
	r.allocator(p, "allocator: ", d.Device, d.memory)
}

// ofDevice returns those of a list that are about a device.
func ofDevice[T any](list []T, device int, of func(*T) int) []T {
	return slices.DeleteFunc(slices.Clone(list), func(t T) bool { return of(&t) != device })
}

// replayed returns the devices with advice about the allocator, each once.
func (r *Advice) replayed() []int {
	var devices []int
	for i := range r.Allocator {
		if d := r.Allocator[i].Device; !slices.Contains(devices, d) {
			devices = append(devices, d)
		}
	}
	return devices
}

// table writes the options that save memory.
func (r *Advice) table(p *page, useful []AdviceOption) {
	const form = "  %-30s %11s %6s"
	p.line(form, "change", "peak", "")
	for i := range useful {
		o := &useful[i]
		p.line(form, o.name, moved(analysis.PeakAllocatedQuantity, float64(o.Predicted.PeakAllocated)),
			proposals.ShareText(o.Predicted.PeakAllocated, r.PeakAllocated))
	}
}

func (r *Advice) useless() string {
	var names []string
	for i := range r.Options {
		if r.Options[i].Predicted.PeakAllocated >= 0 {
			names = append(names, r.Options[i].name)
		}
	}
	return strings.Join(names, ", ")
}
