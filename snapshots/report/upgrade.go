package report

import (
	"fmt"
	"io"

	"github.com/memtop/memtop/snapshots/quantity"
)

// UpgradeSchema names the version of the JSON form of Upgrade.
const UpgradeSchema = "memtop.upgrade/1"

// Upgrade is one command rehearsed in two environments, and how their peaks differ.
type Upgrade struct {
	Schema     string     `json:"schema"`
	Before     *Rehearsal `json:"before"`
	After      *Rehearsal `json:"after"`
	Grew       int64      `json:"grew_bytes"` // of the fullest device, with the context
	Difference *Diff      `json:"difference"` // of what was allocated at its peaks
}

// NewUpgrade joins two rehearsals that used a device, and the difference of their peaks.
func NewUpgrade(before, after *Rehearsal, difference *Diff) *Upgrade {
	return &Upgrade{UpgradeSchema, before, after, after.Most().Full() - before.Most().Full(), difference}
}

// Text writes both peaks, and then the difference.
func (u *Upgrade) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	p.wrap("before  ", u.Before.Command[0])
	p.wrap("after   ", u.After.Command[0])
	p.line("")
	p.line("%-7s %-13s %14s %13s %13s", "", "PyTorch", "peak allocated", "peak reserved", "on the device")
	for i, r := range []*Rehearsal{u.Before, u.After} {
		most, fits := r.Most(), ""
		if !r.Fits {
			fits = "  does not fit"
		}
		p.line("%-7s %-13s %14s %13s %13s%s", [...]string{"before", "after"}[i], r.PyTorch, quantity.Bytes(most.PeakAllocated), quantity.Bytes(most.PeakReserved), quantity.Bytes(most.Full()), fits)
	}
	p.line("")
	p.wrap("", u.verdict())
	for _, r := range []*Rehearsal{u.Before, u.After} {
		if text := worth[r.Bound]; text != worth[BoundExact] {
			p.wrap("  ", fmt.Sprintf("PyTorch %s: %s", r.PyTorch, text))
		}
	}
	p.line("")
	if err := p.w.Flush(); err != nil {
		return err
	}
	return u.Difference.Text(w, width)
}

func (u *Upgrade) verdict() string {
	before := u.Before.Most().Full()
	switch percent := 100 * float64(u.Grew) / float64(max(before, 1)); {
	case u.Grew > 0:
		return fmt.Sprintf("It takes %s (%.1f %%) more on the device. What is allocated at the peak differs by:", quantity.Bytes(u.Grew), percent)
	case u.Grew < 0:
		return fmt.Sprintf("It takes %s (%.1f %%) less on the device. What is allocated at the peak differs by:", quantity.Bytes(-u.Grew), -percent)
	}
	return "It takes the same on the device. What is allocated at the peak differs by:"
}
