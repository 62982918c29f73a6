package probe

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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

// described returns what both a probe and a relay say of their program.
func (p *service) described() protocol.Info {
	return protocol.Info{
		Version: wire.Version, PID: p.who.pid, Command: p.who.command, User: p.who.user, Host: p.who.host,
		Writer: p.o.Writer, Started: p.who.started, Rank: p.o.Rank,
		Viewers: p.viewers.count(), Changing: p.changes.lease.held(),
		ViewersNS: p.meter.busy.Load(), DroppedSteps: p.meter.droppedSteps.Load(),
	}
}

// greeting returns what both say of it in the first message of a stream.
func (p *service) greeting(interval time.Duration) *wire.Hello {
	var learnt []trace.Learnt
	if told := p.learnt.Load(); told != nil {
		learnt = *told
	}
	return &wire.Hello{
		Learnt: learnt,
		PID:    p.who.pid, Command: p.who.command, User: p.who.user, Host: p.who.host, Writer: p.o.Writer,
		Started: p.who.started, Interval: int64(interval), Rank: p.o.Rank,
	}
}

// boxInfo says where the black box is, or why there is none.
func (p *service) boxInfo(path string) *protocol.BoxInfo {
	if err := p.boxless.Load(); err != nil {
		return &protocol.BoxInfo{Problem: (*err).Error()}
	}
	if path == "" {
		return nil
	}
	return &protocol.BoxInfo{Path: path}
}

// lastStep describes the last step, with the memory of the last that was measured.
func lastStep(last, measured *trace.Step) *protocol.LastStep {
	allocated := measured.Allocated
	if last.Reserved > 0 { // its allocator counts it in each step
		allocated = last.Allocated
	}
	settings := last.Settings
	if len(settings) == 0 {
		settings = measured.Settings
	}
	return &protocol.LastStep{
		Duration: last.Duration, Loss: lossOf(last), Device: last.Device,
		Allocated: allocated, PeakAllocated: measured.PeakAllocated, PeakReserved: measured.PeakReserved,
		Categories: measured.Categories, AtPeak: measured.AtPeak, Settings: settings,
	}
}

func (p *Probe) info() protocol.Info {
	i := p.described()
	i.Capabilities, i.ReadOnly = p.capabilities(), !p.changes.allowed()
	i.ProbeNS, i.Dropped = p.Cost()
	i.Gauges = p.gauges.fresh(p.o.Gauge)
	path, _ := p.BlackBox() // boxInfo has the error
	i.Box = p.boxInfo(path)
	if s := p.steps.last(); s != nil {
		i.Step, i.LastStep = s.Number, lastStep(s, s)
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
