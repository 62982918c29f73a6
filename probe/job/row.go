package job

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// RowOf returns the row of a rank from its program's answer, for the device of
// its last step. Growth and Recent need more than one answer.
func RowOf(p attach.Process, i *protocol.Info) ranks.Row {
	d := deviceOf(i)
	row := ranks.Row{
		Host: p.Host, PID: p.PID, Name: p.Command, Device: d.Device, Step: i.Step, Allocated: d.Allocated, Reserved: d.Reserved, Capacity: -1, Others: -1,
	}
	if d.OutOfMemory != nil {
		row.OutOfMemory = *d.OutOfMemory
	}
	if i.Rank != nil {
		row.Rank = *i.Rank.Printable()
	}
	if s := i.LastStep; s != nil {
		row.StepDuration, row.PeakAllocated, row.PeakReserved = s.Duration, s.PeakAllocated, s.PeakReserved
		for _, a := range s.AtPeak {
			category, _ := trace.NamedCategory(a.Name)
			row.AtPeak[category] += a.Bytes
		}
		row.Settings = settingsOf(s.Settings)
	}
	look(&row, i.Gauges)
	return row
}

// deviceOf returns the device of the last step, the fullest before the first.
func deviceOf(i *protocol.Info) protocol.DeviceInfo {
	if i.LastStep != nil {
		if at := slices.IndexFunc(i.Devices, func(d protocol.DeviceInfo) bool { return d.Device == i.LastStep.Device }); at >= 0 {
			return i.Devices[at]
		}
	}
	return slices.MaxFunc(i.Devices, func(a, b protocol.DeviceInfo) int { return cmp.Compare(a.Reserved, b.Reserved) })
}

func settingsOf(values []trace.Value) map[string]string {
	if len(values) == 0 {
		return nil
	}
	all := make(map[string]string, len(values))
	for _, v := range values {
		all[trace.Printable(v.Key)] = trace.Printable(v.Value)
	}
	return all
}

// look puts the last gauge of its device into a row.
func look(row *ranks.Row, seen []trace.Gauge) {
	for _, g := range seen {
		if g.Device == row.Device {
			row.Capacity, row.Others = g.Total, g.Others
		}
	}
}
