package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
)

// Remedy is a change that was rehearsed because the program did not fit. All sizes are bytes.
type Remedy struct {
	Change      string `json:"change"`
	DeviceBytes int64  `json:"device_bytes"` // the most bytes taken with the change, with the context; 0 if it could not be made
	Saves       int64  `json:"saves_bytes"`  // compared with the program without the change
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

// Tried adds a rehearsed change, with the most bytes that the allocator reserved.
// Call it after [Rehearsal.Need].[Rehearsal.Need].
func (r *Rehearsal) Tried(change string, reserved int64, whole *Rehearsal) {
	most, without := r.Most(), whole.Most()
	remedy := Remedy{Change: change, DeviceBytes: without.DeviceBytes - without.PeakReserved + reserved}
	remedy.Saves = without.DeviceBytes - remedy.DeviceBytes
	remedy.Fits = remedy.DeviceBytes <= r.GPU.Total
	most.OOM.add(remedy)
}

// Refused adds a change that the program cannot have, and why.
func (r *Rehearsal) Refused(change, why string) {
	r.Most().OOM.add(Remedy{Change: change, Refused: why})
}

func (s *Shortage) add(r Remedy) {
	s.Tried = append(s.Tried, r)
	if r.Fits {
		s.WouldFit = append(s.WouldFit, WouldFit{r.Change, r.Saves, "rehearsed"})
	}
}

// remedies writes the rehearsed changes; those that fit come first.
func (s *Shortage) remedies(p *page, total int64) {
	p.wrap("  needs      ", fmt.Sprintf("%s on the device as it is, rehearsed without a limit", quantity.Bytes(*s.Needs)))
	label := "fits with"
	for _, fits := range []bool{true, false} {
		for _, r := range s.Tried {
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
