package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
)

// Remedy is a change that was rehearsed. All sizes are bytes.
type Remedy struct {
	Change      string `json:"change"`
	Allocated   int64  `json:"peak_allocated_bytes"` // with the change; 0 if it could not be made
	DeviceBytes int64  `json:"device_bytes"`         // the most bytes taken with the change, with the context; 0 if it could not be made
	Saves       int64  `json:"saves_bytes"`          // of the device, compared with the program without the change
	Fits        bool   `json:"fits"`
	Refused     string `json:"refused"` // why the program cannot have the change, "" if it can
}

// Need notes how much memory the program needs, as its rehearsal without a limit
// found, and the GPUs that have that much. It does nothing if the program fits.
func (r *Rehearsal) Need(whole *Rehearsal, on []string) {
	most, without := r.Most(), whole.Most()
	if most == nil || most.OOM == nil || without == nil || !whole.Fits {
		return
	}
	needs := without.Full()
	most.OOM.Needs = &needs
	most.OOM.WouldFit = make([]WouldFit, 0) // changes that were not rehearsed are less certain
	r.FitsOn = on
}

// Tried adds a rehearsed change, with the peaks of the program that has it. Whole is the program without a limit.
func (r *Rehearsal) Tried(change string, with, whole *Rehearsal) {
	its, without := with.Most(), whole.Most()
	remedy := Remedy{Change: change, Allocated: its.PeakAllocated, DeviceBytes: without.DeviceBytes - without.PeakReserved + its.PeakReserved}
	remedy.Saves = without.DeviceBytes - remedy.DeviceBytes
	remedy.Fits = remedy.DeviceBytes <= r.GPU.Total
	r.Most().add(remedy)
}

// Weighed adds a rehearsed change with what it takes of the device, of which it is known whether it fits.
func (r *Rehearsal) Weighed(change string, its *RehearsedOn, whole *Rehearsal, fits bool) {
	r.Most().add(Remedy{Change: change, Allocated: its.PeakAllocated, DeviceBytes: its.Full(), Saves: whole.Most().Full() - its.Full(), Fits: fits})
}

// Refused adds a change that the program cannot have, and why.
func (r *Rehearsal) Refused(change, why string) {
	r.Most().add(Remedy{Change: change, Refused: why})
}

func (on *RehearsedOn) add(r Remedy) {
	on.Tried = append(on.Tried, r)
	if r.Fits && on.OOM != nil {
		on.OOM.WouldFit = append(on.OOM.WouldFit, WouldFit{r.Change, r.Saves, "rehearsed"})
	}
}

// trials writes what rehearsed changes take of a program that fits without them.
func (on *RehearsedOn) trials(p *page) {
	if on.OOM != nil || len(on.Tried) == 0 {
		return
	}
	p.line("")
	for _, r := range on.Tried {
		if r.Refused != "" {
			p.wrap("  not        ", r.Change+": "+r.Refused)
			continue
		}
		p.wrap("  with       ", fmt.Sprintf("%s: peak allocated %s, %s; on the device %s", r.Change, quantity.Bytes(r.Allocated), saves(on.PeakAllocated-r.Allocated), saves(r.Saves)))
	}
}

func saves(bytes int64) string {
	switch {
	case bytes < 0:
		return quantity.Bytes(-bytes) + " more"
	case bytes == 0:
		return "no less"
	}
	return quantity.Bytes(bytes) + " less"
}

// remedies writes the rehearsed changes; those that fit come first.
func (on *RehearsedOn) remedies(p *page, total int64) {
	p.wrap("  needs      ", fmt.Sprintf("%s on the device as it is, rehearsed without a limit", quantity.Bytes(*on.OOM.Needs)))
	label := "fits with"
	for _, fits := range []bool{true, false} {
		for _, r := range on.Tried {
			if r.Fits != fits {
				continue
			}
			p.wrap(fmt.Sprintf("  %-11s", label), r.text(total))
			label = ""
		}
		label = "not with"
	}
}

func (r *Remedy) text(total int64) string {
	switch {
	case r.Refused != "":
		return fmt.Sprintf("%s: %s", r.Change, r.Refused)
	case r.Fits:
		return fmt.Sprintf("%s: %s on the device, %s left", r.Change, quantity.Bytes(r.DeviceBytes), quantity.Bytes(total-r.DeviceBytes))
	}
	return fmt.Sprintf("%s: %s on the device, %s too much", r.Change, quantity.Bytes(r.DeviceBytes), quantity.Bytes(r.DeviceBytes-total))
}
