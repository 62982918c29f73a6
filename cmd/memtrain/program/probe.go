package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"memtop/cmd/command"
	"memtop/engine/device/cpu"
	"memtop/engine/tensor"
	"memtop/engine/train"
	"memtop/probe"
	"memtop/snapshots/trace"
)

// probeSwitch reads --probe.
func (o *options) probeSwitch() (on bool, err error) {
	switch o.probe {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, usagef("--probe %q: want on or off", o.probe)
}

// openProbe lets viewers look at the run. A run without a probe is
// still a run: one line says so, and training goes on.
func (s *session) openProbe(ctx context.Context) {
	p, err := probe.Listen(context.WithoutCancel(ctx), probe.Options{ // viewers see the last step too
		Control: controlled{s.trainer}, Gauge: s.gauges(), Writer: "memtop's engine",
	}, shown{s})
	if err != nil {
		fmt.Fprintln(s.stderr, "memtrain: "+command.Line(err.Error(), "training without it, as with --probe off"))
		return
	}
	s.listening = p
	s.onClose(func() { _ = p.Close() }) // the program ends anyway
}

// takeBack goes back to the settings of the last step when a change that came
// from outside leaves too little memory, or none for the budget: whoever looks at a run should not be
// able to end it with one key. It says so, and reports whether there is
// something to go back to.
func (s *session) takeBack(failed error, settled *train.Settings) bool {
	what := "out of memory"
	if small := new(train.TooSmallError); errors.As(failed, &small) {
		what = "more than the memory budget"
	} else if oom := new(train.OutOfMemoryError); !errors.As(failed, &oom) {
		return false
	}
	if s.listening == nil || settled == nil {
		return false
	}
	now, before := s.trainer.Settings().Values(), settled.Values()
	var keys, changes []string
	for _, key := range train.Keys() {
		if now[key] != before[key] {
			keys, changes = append(keys, key), append(changes, key+"="+now[key])
		}
	}
	if len(keys) == 0 || s.trainer.Set(*settled) != nil {
		return false
	}
	reason := what + " with " + strings.Join(changes, " ")
	s.listening.Refuse(reason, keys...)
	fmt.Fprintln(s.stderr, "memtrain: "+command.Line(fmt.Sprintf("step %d: %s", s.trainer.Steps()+1, reason), "going on as before"))
	return true
}

// shown is a run as a probe sees it. The allocator and its tables are safe for
// concurrent use.
type shown struct{ s *session }

func (v shown) Devices() []int                     { return []int{v.s.memory.Device()} }
func (v shown) Tables() trace.Tables               { return v.s.memory.Names().Tables() }
func (v shown) State(_ int, at func()) trace.State { return v.s.memory.State(at) }
func (v shown) Settings() []trace.Setting          { return v.s.memory.Settings() }
func (v shown) Observe(r trace.Recorder)           { v.s.memory.Observe(r) }

// controlled is what viewers may change.
type controlled struct{ *train.Trainer }

// Set changes a setting of the next step.
func (c controlled) Set(key, value string) error { return c.Change(key, value) }

// gauges returns who looks at the device from outside. A GPU is looked at by the
// viewer, through the driver, and never by the program that trains on it.
func (s *session) gauges() func() []trace.Gauge {
	if _, isCPU := s.machine.(*cpu.Device); isCPU {
		return s.gauge
	}
	return nil
}

// gauge measures cpu:0 as a driver measures its device: no other process uses it.
func (s *session) gauge() []trace.Gauge {
	used, at := s.reserved()
	return []trace.Gauge{{
		Device: s.memory.Device(), Time: at.UnixMicro(),
		Total: s.capacity, Used: used, Process: used, Others: 0,
		Utilisation: -1, Temperature: -1, Power: -1,
	}}
}

// reserved returns what is reserved and when it was: the same before and after
// the clock was read, so that it can be compared with events. A program that
// gives it no peace gets the last that was seen.
func (s *session) reserved() (bytes int64, at time.Time) {
	const tries = 8
	for range tries {
		stats := s.memory.Stats()
		bytes, at = stats.Reserved(), time.Now()
		if stats = s.memory.Stats(); stats.Reserved() == bytes {
			break
		}
	}
	return bytes, at
}

// lost notes a tensor that the program can no longer reach and never released.
func (s *session) lost(l tensor.Leak) { s.memory.Lost(l.Allocation) }
