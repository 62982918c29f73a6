package report

import (
	"fmt"
	"strings"

	"github.com/memtop/memtop/snapshots/quantity"
)

// Fit is the cheapest change with which a program fits a device. All sizes are bytes.
type Fit struct {
	Total         int64  `json:"total_bytes"`
	Fits          bool   `json:"fits"`       // as it is, or with the change
	Change        string `json:"change"`     // with the arguments that objects must take; "" if none is needed, or none suffices
	Settings      string `json:"settings"`   // an environment variable as NAME=VALUE, "" for none
	Patch         string `json:"patch"`      // a unified diff of the program, "" for none
	Fewest        bool   `json:"fewest"`     // of blocks to recompute: one less was rehearsed, and does not fit
	Rehearsals    int    `json:"rehearsals"` // that found it
	PeakAllocated int64  `json:"peak_allocated_bytes"`
	PeakReserved  int64  `json:"peak_reserved_bytes"`
	DeviceBytes   int64  `json:"device_bytes"` // the most taken with it, with the context
	Left          int64  `json:"left_bytes"`
}

// Take notes what the program takes with the change.
func (f *Fit) Take(on *RehearsedOn) {
	f.PeakAllocated, f.PeakReserved, f.DeviceBytes = on.PeakAllocated, on.PeakReserved, on.Full()
	f.Left = f.Total - f.DeviceBytes
}

// text writes the answer. The device is as the program without the change has it.
func (f *Fit) text(p *page, on *RehearsedOn) {
	p.line("")
	switch {
	case f.Fits && f.Change == "":
		p.wrap("", "It fits as it is: "+f.takes()+".")
	case f.Fits:
		p.wrap("", fmt.Sprintf("It fits with %s: %s.%s", f.Change, f.takes(), f.narrow(on)))
	case on.OOM == nil || on.OOM.Needs == nil:
		p.wrap("", "What it needs is not known: without a limit it failed, too. Nothing was tried.")
	default:
		p.wrap("", "None of the changes below is enough. A smaller batch may be: --vary batch=1..64 finds the largest that fits.")
	}
	if rows := f.others(on); len(rows) > 0 {
		p.line("")
		p.line("  Not enough, of %s:", quantity.Bytes(f.Total))
		for _, row := range rows {
			p.wrap(row.label, row.what)
		}
	}
	if f.Fewest {
		p.wrap("  ", "One block fewer was rehearsed, and does not fit.")
	}
	f.howTo(p)
	p.line("")
	p.line("  %s", quantity.Plural(f.Rehearsals, "rehearsal"))
}

// narrow says that what is left may not be enough, and what to ask for then, "" if it is.
func (f *Fit) narrow(on *RehearsedOn) string {
	spread := spreadOf(on)
	if f.Left >= spread {
		return ""
	}
	return fmt.Sprintf(" That is close: beside PyTorch CUDA may take %s more than is counted; --fit %s leaves room for it.",
		quantity.Bytes(spread), strings.ReplaceAll(quantity.Bytes(f.Total-spread), " ", ""))
}

func (f *Fit) takes() string {
	return fmt.Sprintf("%s on the device, %s left; peak allocated %s, reserved %s",
		quantity.Bytes(f.DeviceBytes), quantity.Bytes(f.Left), quantity.Bytes(f.PeakAllocated), quantity.Bytes(f.PeakReserved))
}

// fitRow is what a change takes, and which it is.
type fitRow struct{ label, what string }

// others returns a row for the program as it is and for each change that does not suffice.
func (f *Fit) others(on *RehearsedOn) (rows []fitRow) {
	if on.OOM == nil || on.OOM.Needs == nil {
		return nil
	}
	row := func(bytes int64, what string) {
		rows = append(rows, fitRow{fmt.Sprintf("  %10s, %10s too much  ", quantity.Bytes(bytes), quantity.Bytes(bytes-f.Total)), what})
	}
	row(*on.OOM.Needs, "as it is")
	for _, r := range on.Tried {
		switch {
		case r.Refused != "":
			rows = append(rows, fitRow{fmt.Sprintf("  %-33s  ", "not possible"), r.Change + ": " + r.Refused})
		case !r.Fits:
			row(r.DeviceBytes, r.Change)
		}
	}
	return rows
}

// howTo writes what the user is to do.
func (f *Fit) howTo(p *page) {
	if f.Settings != "" {
		p.line("")
		p.line("  Set  %s", f.Settings)
	}
	if f.Patch != "" {
		p.line("")
		for line := range strings.Lines(f.Patch) {
			fmt.Fprintln(p.w, strings.TrimRight(line, "\r\n")) // whole, so that it can be copied
		}
	}
}
