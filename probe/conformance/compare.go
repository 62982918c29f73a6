package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// compare checks that streams of one program agree with each other.
func (e *examination) compare(streams []*watcher) {
	main, past, newer := streams[0], streams[1], streams[2]
	if newer.seen[wire.StepsFrame] > 0 {
		e.agreeOnSteps(main.steps, newer.steps)
	}
	if len(past.counters) == 0 && past.tooLate() {
		e.unseen("stream.past", tooLateText)
		return
	}
	e.check("stream.past", len(past.counters) > 0, "a stream with ?past as without", "no batch of it came")
}

// agreeOnSteps checks that steps in batches equal those in messages. Only some
// steps have layers.
func (e *examination) agreeOnSteps(single, batched map[stepOf]trace.Step) {
	text := func(s trace.Step) string { s.Layers = nil; return fmt.Sprintf("%+v", s) }
	for at, s := range single {
		if other, ok := batched[at]; ok {
			first, second := text(s), text(other)
			e.check("steps.same", first == second, "the same as in a message", "%s; in a batch: %s", first, second)
		}
	}
}

// moment is an answer's numbers about the memory at the time of the answer.
type moment struct {
	rule      string
	of        string
	device    int
	requested int64 // -1 when missing
	reserved  int64
	allocated int64
	info      *protocol.Info // nil for a snapshot
	known     int64          // the time of the numbers, 0 for the time of arrival; microseconds since 1970
	at        int64          // the time of arrival, microseconds since 1970
}

// infoMoment asks for the current memory.
func (e *examination) infoMoment(ctx context.Context) moment {
	info, err := e.askInfo(ctx)
	if err != nil || len(info.Devices) == 0 {
		return moment{}
	}
	d := info.Devices[0]
	m := moment{rule: "info.memory", of: "/v1/info", device: d.Device, requested: -1, reserved: d.Reserved, allocated: d.Allocated, info: info, at: time.Now().UnixMicro()}
	if d.Requested != nil && d.IsKnown() {
		m.requested = *d.Requested
	}
	if d.Known != nil {
		m.known = *d.Known
	}
	return m
}

// remember checks that the memory in answers also occurred in the watched stream.
func (e *examination) remember(w *watcher, moments []moment) {
	for _, m := range moments {
		if m.rule == "" {
			continue
		}
		if n := len(w.counters); n == 0 || m.at > w.counters[n-1].Time {
			for _, rule := range []string{m.rule, "info.step"} {
				e.unseen(rule, "the stream had ended when it was asked: this machine is busy")
			}
			continue
		}
		if m.info != nil {
			e.lastStep(w, m.info)
		}
		p := w.memory[m.device]
		if p == nil || m.requested < 0 {
			continue
		}
		if m.known > 0 && m.known < w.counters[0].Time {
			e.unseen(m.rule, "the program had not looked at its memory since the stream began")
			continue
		}
		was := p.sums[memorySum{m.requested, m.reserved}]
		if !was && len(p.sums) >= sumsKept {
			e.unseen(m.rule, "there were too many events to compare it with")
			continue
		}
		e.check(m.rule, was, "bytes requested and reserved as the stream had them at one event of these seconds",
			"%s: device %d: %d requested, %d reserved", m.of, m.device, m.requested, m.reserved)
		e.check(m.rule, m.allocated >= 0 && m.allocated <= m.reserved, "blocks within segments: 0 <= allocated <= reserved", "%s: %d and %d", m.of, m.allocated, m.reserved)
	}
}

// lastStep compares the last step of /v1/info with that of the stream.
func (e *examination) lastStep(w *watcher, info *protocol.Info) {
	const rule = "info.step"
	last := info.LastStep
	if !e.check(rule, (info.Step == 0) == (last == nil), "last_step where step is not 0, and no other", "step %d, last_step %v", info.Step, last) || last == nil {
		return
	}
	if s, known := w.steps[stepOf{last.Device, info.Step}]; known {
		memory := !s.Measured() || last.PeakAllocated == s.PeakAllocated && last.PeakReserved == s.PeakReserved &&
			(last.AtPeak == nil || slices.Equal(last.AtPeak, s.AtPeak))
		e.check(rule, last.Duration == s.Duration && memory,
			"last_step as the stream has it", "step %d: %+v; in the stream %d ns, peaks %d and %d, %v", info.Step, *last, s.Duration, s.PeakAllocated, s.PeakReserved, s.AtPeak)
	}
}

// contentPickle is the content type of a snapshot.
const contentPickle = "application/octet-stream"

// answers checks that a rule's answer succeeds and has a content type.
func (e *examination) answers(rule string, response *http.Response, want string) bool {
	kind := contentType(response.Header)
	return e.check(rule, response.StatusCode == http.StatusOK && kind == want,
		"status 200, Content-Type: "+want, "status %d, Content-Type: %s", response.StatusCode, kind)
}

// examineSnapshot reads a snapshot as memtop would.
func (e *examination) examineSnapshot(ctx context.Context) []moment {
	if !e.can(protocol.CapabilitySnapshot) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotWithin)
	defer cancel()
	response, err := e.viewer.open(ctx, get("/v1/snapshot"))
	if err != nil {
		e.broken("snapshot.pickle", "a snapshot", "%v", err)
		return nil
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if !e.answers("snapshot.pickle", response, contentPickle) {
		return nil
	}
	t, err := pytorch.Decode(ctx, response.Body, pytorch.Options{Bound: trace.DefaultBound})
	if err != nil || t.Info.Truncated {
		e.broken("snapshot.pickle", "a whole pickle as PyTorch writes it", "%v", errorOr(err, "it ends early"))
		return nil
	}
	e.passed("snapshot.pickle")
	var moments []moment
	for i := range t.Devices {
		d := &t.Devices[i]
		p := newPlayed(false)
		p.load(0, &d.Final)
		moments = append(moments, moment{"snapshot.memory", "/v1/snapshot", d.ID, p.requested, p.reserved, p.allocated, nil, 0, time.Now().UnixMicro()})
	}
	return moments
}
