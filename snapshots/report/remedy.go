package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
)

// Remedy is a change that was rehearsed because the program did not fit. All sizes are bytes.
type Remedy struct {
	Change      string `json:"change"`
	DeviceBytes int64  `json:"device_bytes"` // the most that is taken with it, with the context; 0 where it could not be made
	Saves       int64  `json:"saves_bytes"`  // of what the program needs without it
	Fits        bool   `json:"fits"`
	Refused     string `json:"refused"` // why the program cannot be changed so, "" if it can
}

// Need notes what the program takes where there is enough, as its rehearsal without a limit
// found, and the GPUs that have it. It does nothing where the program fits.
func (r *Rehearsal) Need(whole *Rehearsal, on []string) {
	most, without := r.Most(), whole.Most()
	if most == nil || most.OOM == nil || without == nil || !whole.Fits {
		return
	}
	most.OOM.Needs = &without.DeviceBytes
	most.OOM.WouldFit = make([]WouldFit, 0) // those that were not rehearsed say less
	r.FitsOn = on
}

// Tried adds a change that was rehearsed, with the most that the allocator reserved then.
// It goes after [Rehearsal.Need].
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

// remedies writes what was rehearsed, those that fit first.
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
