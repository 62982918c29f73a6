package report

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
)

// AllocatorAdvice is other settings of the allocator under which the recorded
// requests reserve less. A process can only get them at its start.
type AllocatorAdvice struct {
	Device    int               `json:"device"`
	Change    map[string]string `json:"change"`
	Predicted struct {
		PeakReserved int64 `json:"peak_reserved_bytes"`
	} `json:"predicted"`
	Why string `json:"why"`

	settings, part string
}

// confVariable is the environment variable with the settings of PyTorch's
// allocator.
const confVariable = "PYTORCH_CUDA_ALLOC_CONF"

// AddAllocator adds the result of a replay, if it is certain.
func (r *Advice) AddAllocator(device int, a *whatif.Answer) {
	if i := slices.IndexFunc(r.Devices, func(d AdviceDevice) bool { return d.Device == device }); i >= 0 {
		r.Devices[i].memory = a.MemoryText()
	}
	for _, s := range a.Savings() {
		add := AllocatorAdvice{
			Device: device, Change: map[string]string{confVariable: s.Settings}, settings: s.Settings,
			part: proposals.ShareText(-s.Saved, s.Saved+s.Reserved),
			Why: fmt.Sprintf("the recorded requests were replayed: %s reserved at the peak instead of %s; only a process that begins with it has it",
				quantity.Bytes(s.Reserved), quantity.Bytes(s.Saved+s.Reserved)),
		}
		if s.Note != "" {
			add.Why += "; " + s.Note
		}
		add.Predicted.PeakReserved = -s.Saved
		r.Allocator = append(r.Allocator, add)
	}
}

// allocator writes the settings of the allocator under which a device would reserve
// less.
func (r *Advice) allocator(p *page, label string, device int, memory string) {
	found := ofDevice(r.Allocator, device, func(o *AllocatorAdvice) int { return o.Device })
	if len(found) == 0 {
		return
	}
	text := "under other settings the recorded requests would reserve less; they cannot change in a running process: start it with " +
		confVariable + "=SETTINGS, or memtrain with --alloc-conf SETTINGS"
	if memory != "" {
		text += ". " + memory
	}
	p.wrap(label, text)
	for _, o := range found {
		p.line("  %-52s %11s %6s reserved", o.settings, "-"+quantity.Bytes(-o.Predicted.PeakReserved), o.part)
	}
}
