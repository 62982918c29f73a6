package probe

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

func (p *Probe) capabilities() []string {
	list := []string{protocol.CapabilitySnapshot}
	if p.changes.allowed() {
		list = append(list, protocol.CapabilityControl)
	}
	if p.o.Gauge != nil {
		list = append(list, protocol.CapabilityGauges)
	}
	return list
}

func (p *Probe) info() protocol.Info {
	i := protocol.Info{
		Version: wire.Version, Capabilities: p.capabilities(),
		PID: p.who.pid, Command: p.who.command, User: p.who.user, Host: p.who.host,
		Writer: p.o.Writer, Started: p.who.started, ReadOnly: !p.changes.allowed(),
		Rank: p.o.Rank, Viewers: p.viewers.count(), Changing: p.changes.lease.held(),
	}
	i.ProbeNS, i.Dropped = p.Cost()
	i.ViewersNS, i.DroppedSteps = p.meter.busy.Load(), p.meter.droppedSteps.Load()
	i.Gauges = p.gauges.fresh(p.o.Gauge)
	switch path, err := p.BlackBox(); {
	case err != nil:
		i.Box = &protocol.BoxInfo{Problem: err.Error()}
	case path != "":
		i.Box = &protocol.BoxInfo{Path: path}
	}
	if s := p.steps.last(); s != nil {
		i.Step = s.Number
		i.LastStep = &protocol.LastStep{
			Duration: s.Duration, Loss: lossOf(s), Device: s.Device,
			Allocated: s.Allocated, PeakAllocated: s.PeakAllocated, PeakReserved: s.PeakReserved,
			Categories: s.Categories, AtPeak: s.AtPeak, Settings: s.Settings,
		}
	}
	for _, device := range p.devices {
		sum, failed := p.totals(device), p.rings[device].failed.Load()
		i.Devices = append(i.Devices, protocol.DeviceInfo{
			Device: device, Allocated: sum.Allocated, Requested: &sum.Requested, Reserved: sum.Reserved, Events: p.rings[device].end(),
			OutOfMemory: &failed,
		})
	}
	return i
}

// totals returns the totals of a device's memory. It uses a source's own count if
// it has one: asking for the state would hold up the allocator while all blocks
// are copied.
func (p *Probe) totals(device int) Totals {
	if counted, ok := p.source.(Counted); ok {
		return counted.Totals(device)
	}
	return totalsOf(&p.base(device).state)
}

func totalsOf(s *trace.State) Totals {
	var n Totals
	for i := range s.Segments {
		n.Reserved += s.Segments[i].Size
		for j := range s.Segments[i].Blocks {
			b := &s.Segments[i].Blocks[j]
			if b.State == trace.Allocated {
				n.Allocated += b.Size
			}
			if b.State.Live() {
				n.Requested += b.LiveRequested()
			}
		}
	}
	return n
}

// userName returns the name of the user who runs the program.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}

// commandMax bounds the part of a command line that viewers see, in bytes.
const commandMax = 4096

// commandLine returns the command line that viewers, recordings and black boxes
// show: all of it, or only the program's name if setting, the value of
// [protocol.CommandLineVariable], says so.
func commandLine(args []string, setting string) string {
	if setting != "" && setting != "full" && len(args) > 0 {
		args = []string{filepath.Base(args[0])}
	}
	line := strings.ToValidUTF8(strings.Join(args, " "), "\uFFFD")
	return strings.ToValidUTF8(line[:min(len(line), commandMax)], "")
}

// lossOf returns the loss of a step, nil if the program gives none.
func lossOf(s *trace.Step) *wire.Float {
	if s.NoLoss {
		return nil
	}
	loss := wire.Float(s.Loss)
	return &loss
}
