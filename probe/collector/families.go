package collector

import (
	"errors"
	"slices"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Bounds of the output.
const (
	maxPrograms = 256
	maxDevices  = 32 // of each program
)

// families merges the results. A socket without a process is no program.
func (c *Collector) families(found []attach.Process) []exposition.Family {
	up := exposition.Family{Name: "memtop_probe_up", Help: "Whether the program answers."}
	problem := exposition.Family{Name: "memtop_probe_problem", Help: "1 for the reason why a program's probe is not up."}
	left := exposition.Family{Name: "memtop_left_out", Help: "What is beyond the bounds of the collector and not shown."}
	programs := distinct(found)
	shown := programs[:min(len(programs), maxPrograms)]
	c.forget(shown)
	devices := 0
	var measured []protocol.Measured
	for _, p := range shown {
		labels := c.labels(p)
		up.Samples = append(up.Samples, exposition.Sample{Labels: labels, Value: boolean(p.Problem == nil)})
		if p.Problem != nil {
			labels = append(slices.Clip(labels), "reason", reason(p.Problem))
			problem.Samples = append(problem.Samples, exposition.Sample{Labels: labels, Value: 1})
			continue
		}
		devices += max(0, len(p.Info.Devices)-maxDevices)
		measured = append(measured, protocol.Measured{Labels: labels, Info: tidy(p.Info)})
	}
	left.Samples = []exposition.Sample{
		{Labels: []string{"what", "programs"}, Value: float64(len(programs) - len(shown))},
		{Labels: []string{"what", "devices"}, Value: float64(devices)},
	}
	families := append([]exposition.Family{up, problem, left, ended()}, protocol.Metrics(measured)...)
	return append(families, hosts(measured)...)
}

// distinct returns each process once; those that answer come first.
func distinct(found []attach.Process) []attach.Process {
	var good, bad []attach.Process
	for _, p := range found {
		if p.Problem == nil {
			good = append(good, p)
		} else {
			bad = append(bad, p)
		}
	}
	seen := map[int]bool{0: true}
	return slices.DeleteFunc(append(good, bad...), func(p attach.Process) bool {
		twice := seen[p.PID]
		seen[p.PID] = true
		return twice
	})
}

func boolean(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// reason returns a word for a program's problem, from a short list, so that it
// can be a label's value.
func reason(err error) string {
	var refused *attach.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Busy:
		return "busy"
	case errors.As(err, new(*attach.SilentError)):
		return "silent"
	case errors.As(err, new(*attach.PermissionError)):
		return "untrusted"
	case errors.As(err, new(*attach.NoProbeError)):
		return "off"
	case errors.As(err, new(*wire.VersionError)):
		return "version"
	case errors.As(err, new(*attach.MalformedError)):
		return "malformed"
	}
	return "refused"
}

// tidy returns a program's answer within bounds: a limited number of devices,
// each gauge once, and only known categories.
func tidy(i *protocol.Info) *protocol.Info {
	kept := *i
	kept.Devices = i.Devices[:min(len(i.Devices), maxDevices)]
	kept.Gauges = nil
	for _, g := range i.Gauges {
		known := g.Device == trace.HostDevice ||
			slices.ContainsFunc(kept.Devices, func(d protocol.DeviceInfo) bool { return d.Device == g.Device })
		twice := slices.ContainsFunc(kept.Gauges, func(other trace.Gauge) bool { return other.Device == g.Device })
		if known && !twice {
			kept.Gauges = append(kept.Gauges, g)
		}
	}
	if s := i.LastStep; s != nil {
		step := *s
		step.Categories = categories(s.Categories)
		kept.LastStep = &step
	}
	return &kept
}

// categories returns the bytes of each known category, and those of all others as
// "other".
func categories(all []trace.Amount) []trace.Amount {
	var sums [trace.CategoryCount]int64
	var seen [trace.CategoryCount]bool
	for _, a := range all {
		c, _ := trace.NamedCategory(a.Name)
		sums[c], seen[c] = sums[c]+a.Bytes, true
	}
	var known []trace.Amount
	for _, c := range trace.Categories {
		if seen[c] {
			known = append(known, trace.Amount{Name: c.String(), Bytes: sums[c]})
		}
	}
	return known
}
