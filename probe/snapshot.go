package probe

import (
	"context"

	"github.com/memtop/memtop/snapshots/trace"
)

// snapshotsAtOnce bounds the memory of snapshots that are being written: each
// holds the events of all rings.
const snapshotsAtOnce = 2

// snapshot returns the program's current memory. It takes one device after the
// other; each is exact for one moment.
func (p *Probe) snapshot(context.Context) (*trace.Trace, error) {
	t := &trace.Trace{
		Info:        trace.Info{Kind: "live", PickleProtocol: -1, Writer: p.o.Writer, Control: p.changes.allowed()},
		Annotations: []trace.Annotation{},
		Settings:    p.source.Settings(),
	}
	for _, device := range p.devices {
		t.Devices = append(t.Devices, p.snapshotDevice(device))
		t.Info.TraceLists = max(t.Info.TraceLists, device+1)
	}
	t.Tables = p.tables.fresh(p)
	return t, nil
}

func (p *Probe) snapshotDevice(device int) trace.Device {
	b, r := p.takeBase(device), p.rings[device]
	at := max(0, b.at-r.kept())
	var log trace.EventLog
	for at < b.at {
		events, ok := r.read(at)
		if !ok {
			at, log = at+chunkLen, trace.EventLog{} // the recorder overtook it: begin later
			continue
		}
		for i := range events[:min(int64(len(events)), b.at-at)] {
			log.Append(events[i])
		}
		at += int64(len(events))
	}
	return trace.Device{
		ID: device, Events: log.Events(), First: b.at - int64(log.Len()), Final: b.state,
		Overflowed: b.at > int64(log.Len()), MaxEvents: r.kept(),
	}
}
