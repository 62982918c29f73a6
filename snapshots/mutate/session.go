package mutate

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// batch is how many events are sent at once.
const batch = 20

// session returns the stream of a program with a random trace: bases, batches of
// events, steps, settings that change, measurements of the device.
func session(r *rand.Rand) []byte {
	t := original(r)
	var out bytes.Buffer
	e := wire.NewEncoder(&out)
	hello := wire.Hello{
		PID: 7, Command: "memtrain --model gpt", User: "root", Host: "box", Writer: "memtop's engine", Started: clock,
		Capabilities: []string{"control", "stacks", "steps"}, Interval: 100e6, Settings: t.Settings,
	}
	for i := range t.Devices {
		hello.Devices = append(hello.Devices, t.Devices[i].ID)
	}
	e.Hello(&hello)
	e.Tables(t.Tables)
	e.Options([]trace.Option{{Key: "amp", Value: "off", About: "mixed precision", Choices: []string{"off", "bf16"}}})
	if r.IntN(3) == 0 {
		sendWindows(r, e, t)
	} else {
		sendEvents(r, e, t)
	}
	if r.IntN(4) > 0 {
		e.Bye("the program ended")
	}
	_ = e.Flush() // a buffer takes everything
	return out.Bytes()
}

// sendWindows sends windows on a device, as PyTorch's own snapshots, with what some of
// its memory is for.
func sendWindows(r *rand.Rand, e *wire.Encoder, t *trace.Trace) {
	d := &t.Devices[0]
	var ends []int
	for at := 0; at < d.Events.Len(); at += 1 + r.IntN(3*batch) {
		ends = append(ends, at)
	}
	ring := pytorchtest.Ring{Trace: t, Device: d, Size: 2 * batch}
	for step, w := range ring.Windows(ends) {
		var pickle bytes.Buffer
		_ = pytorch.Write(&pickle, w) // a buffer takes everything
		e.Snapshot(pickle.Bytes())
		if n := w.Devices[0].Events.Len(); n > 0 && len(t.Tables.Notes) > 1 {
			e.Tags(d.ID, []trace.Tag{{Addr: w.Devices[0].Events.At(r.IntN(n)).Addr, Note: 1}})
		}
		progress(r, e, d.ID, int64(step+1))
	}
}

// sendEvents sends bases and events of all devices.
func sendEvents(r *rand.Rand, e *wire.Encoder, t *trace.Trace) {
	step := int64(0)
	for i := range t.Devices {
		d := &t.Devices[i]
		base, _ := trace.Rewind(t, d) // what cannot be undone does not matter here
		e.Base(d.ID, 0, &base, 0, "")
		for at := 0; at < d.Events.Len(); {
			span := d.Events.Span(at)
			span = span[:min(len(span), batch)]
			e.Events(d.ID, int64(at), span)
			at += len(span)
			step++
			progress(r, e, d.ID, step)
			if r.IntN(12) == 0 {
				e.Base(d.ID, int64(at), &base, r.Int64N(100)-1, fmt.Sprint("too slow at step ", step))
			}
		}
	}
}

// clock is when sessions begin, in microseconds since 1970.
const clock = 1_767_225_600_000_000

// progress writes a step, sometimes a change and a gauge, and counters.
func progress(r *rand.Rand, e *wire.Encoder, device int, step int64) {
	amounts := []trace.Amount{{Name: "parameter", Bytes: 4 << 20}, {Name: "activation", Bytes: r.Int64N(1 << 30)}}
	e.Step(&trace.Step{
		Number: step, Time: clock + step*1000, Duration: r.Int64N(1e9), Tokens: 512, Loss: choose(r, []float64{2.5, math.NaN(), math.Inf(1)}),
		Device: device, Allocated: 5 << 20, Reserved: 8 << 20, PeakAllocated: 6 << 20, PeakReserved: 8 << 20,
		Categories: amounts, AtPeak: amounts, Settings: []trace.Value{{Key: "amp", Value: choose(r, []string{"off", "bf16"})}},
		Layers: []trace.Layer{{Class: "GPT"}, {Name: "blocks.0", Class: "Block", OutputShape: "[4, 64]", Calls: 1, SavedBytes: r.Int64N(1 << 20)}},
	})
	if r.IntN(3) == 0 {
		e.Change(&trace.Change{ID: step / 2, Time: clock, Key: "amp", From: "off", To: "bf16", State: trace.ChangeState(r.IntN(3)), Step: step, Reason: "no"})
	}
	if r.IntN(3) == 0 {
		e.Gauges([]trace.Gauge{{Device: device, Time: clock + step*1000, Total: 80 << 30, Used: 20 << 30, Process: 10 << 30, Others: -1}})
	}
	e.Counters(wire.Counters{Time: clock + step*1000, Dropped: step, ProbeNS: 1e6})
}
