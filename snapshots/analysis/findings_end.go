package analysis

import (
	"fmt"
	"time"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// ended describes the end of a program's black box: how the program ended, its
// last event and step, and the sums of its memory then. This finding comes before
// all others.
func (f *finder) ended() []Finding {
	live := f.index.trace.Live
	if live == nil || live.Ended == nil {
		return nil
	}
	found := Finding{
		Kind: EndedFinding, Severity: Problem, Confidence: Certain, Where: Where{Event: f.index.End()},
		Evidence: "Killed or crashed: it did not say that it ends",
	}
	last, limit := f.hostLimit()
	switch end := live.Ended; {
	case end.Runs:
		found.Severity, found.Evidence = Info, fmt.Sprintf("This is the black box of a program that still runs: memtop attach %d", live.PID)
	case last != nil && limit.Spent() && end.Goodbye == "":
		found.Evidence = "Killed, most likely by the kernel because memory of the host had run out: it did not say that it ends"
	case end.Goodbye != "":
		found.Evidence = "It said goodbye: " + end.Goodbye
	}
	for i := range live.Ended.Devices {
		if last := &live.Ended.Devices[i]; last.Device == f.index.device.ID {
			found.Bytes = max(0, last.Requested)
			found.Evidence += ". " + f.lastEvent(last)
		}
	}
	found.Evidence += f.hostAtEnd(last, limit)
	return []Finding{found}
}

// hostLimit returns the last gauge of the machine's memory, and the limit that was nearest then: the machine's,
// or that of the process's control group. The gauge is nil if the program did not say.
func (f *finder) hostLimit() (*trace.Gauge, trace.Limit) {
	if g := f.index.trace.LastGauge(f.index.hostDevice()); g != nil {
		if limit, known := g.Nearest(); known {
			return g, limit
		}
	}
	return nil, trace.Limit{}
}

// hostAtEnd says how much memory the process had and how much was left. It is "" when the program did not say.
func (f *finder) hostAtEnd(g *trace.Gauge, limit trace.Limit) string {
	if g == nil || g.Process < 0 {
		return ""
	}
	text := fmt.Sprintf(". At %s the process had %s of host memory, and %s of the %s of %s were left",
		time.UnixMicro(g.Time).UTC().Format("15:04:05"), quantity.Bytes(g.Process), quantity.Bytes(limit.Left()), quantity.Bytes(limit.Bytes), limit.Whose())
	if ledger, at := f.index.HostLedger(f.index.End()); at != nil {
		most := ledger.Most()
		text += fmt.Sprintf(". Most of it: %s, %s", most.Name, quantity.Bytes(most.Bytes))
	}
	return text
}

// lastEvent says when the last event came and how much memory was held then.
func (f *finder) lastEvent(last *trace.LastEvent) string {
	text := "The device had no event"
	if last.Time > 0 {
		text = "Last event at " + time.UnixMicro(last.Time).UTC().Format("2006-01-02 15:04:05.000 UTC")
		if step := f.index.trace.LastStep(last.Device); step != nil {
			since := time.Duration(max(0, last.Time-step.Time)) * time.Microsecond
			text += fmt.Sprintf(", %s after step %s", spanText(since), quantity.Count(int(step.Number)))
		}
	}
	if last.Requested == trace.Unknown {
		return text + ". How much was in use is not known"
	}
	text += fmt.Sprintf(", with %s in use and %s reserved", quantity.Bytes(last.Requested), quantity.Bytes(last.Reserved))
	switch {
	case last.Lost > 0:
		text += fmt.Sprintf(". The last %s came too quickly for the box: memory is shown as it was before them", quantity.Plural(int(last.Lost), "event"))
	case last.Looked == trace.Unknown:
		text += ". What held it is not known: nobody looked"
	case last.Looked > 0:
		text += fmt.Sprintf(". What held it was looked at %s before, and is shown as it was then", spanText(time.Duration(last.Time-last.Looked)*time.Microsecond))
	}
	return text
}

// spanText writes a span of time, rounded for reading.
func spanText(span time.Duration) string {
	if span < time.Second {
		return fmt.Sprintf("%d ms", span.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", span.Seconds())
}
