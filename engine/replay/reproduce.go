package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/alloc"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// longest is how much of a text of the file's a reason repeats, in bytes.
const longest = 200

// reproduce replays the recording under its own settings and notes what came of
// it. Events that are all equal have the same curve of reserved bytes.
func (q *question) reproduce(ctx context.Context, to *whatif.Recorded) error {
	if q.unknown != nil {
		to.WhyNot = "its settings are not those of this allocator: " + trace.Shorten(q.unknown.Error(), longest)
		return nil
	}
	if q.start.doubt != "" {
		to.WhyNot = q.start.doubt
		return nil
	}
	for _, rules := range q.possible {
		if err := q.reproduceBy(ctx, rules, to); err != nil || to.WhyNot == "" {
			q.rules = rules
			return err
		}
	}
	return nil
}

// mostWhole is how many pools that hand out whole blocks are looked for: each costs a
// replay.
const mostWhole = 8

// reproduceBy is reproduce with the rules of one release. A file does not say which
// pools hand out whole blocks. It shows where one gets new memory although it has a
// block.
func (q *question) reproduceBy(ctx context.Context, rules alloc.Rules, to *whatif.Recorded) error {
	to.WhyNot = ""
	var r *recording
	for q.whole = nil; ; q.whole = append(q.whole, r.unshared) {
		var err error
		if r, err = newRecording(q.Trace, q.Device, q.settings, rules, &q.start.state, q.whole); err != nil {
			to.WhyNot = "the state before the first event contradicts itself: " + err.Error()
			return nil
		}
		if err := r.run(ctx); err != nil {
			return err
		}
		if r.unshared == (trace.Pool{}) || len(q.whole) == mostWhole || slices.Contains(q.whole, r.unshared) {
			break
		}
	}
	stats := r.a.Stats()
	switch {
	case r.wrong != "":
		to.WhyNot = fmt.Sprintf("%sevent %s of %s: %s", q.suspicion(), quantity.Count(r.at), quantity.Count(q.Device.Events.Len()), r.wrong)
	case stats.Reserved() != q.Device.Final.Reserved():
		to.WhyNot = fmt.Sprintf("it ends with %s reserved, the file with %s",
			quantity.Bytes(stats.Reserved()), quantity.Bytes(q.Device.Final.Reserved()))
	default:
		to.PeakAllocated = stats.AllocatedBytes.All.Peak
	}
	return nil
}

// suspicion says what may be the reason for a difference, "" when nothing is known.
func (q *question) suspicion() string {
	switch {
	case q.gaps() > 0:
		return fmt.Sprintf("events were lost in %s: ", quantity.Plural(q.gaps(), "place"))
	case len(q.Trace.Settings) == 0:
		return "the file does not say its settings, and under the defaults it goes otherwise: "
	case q.limited:
		return "the settings limit the memory to a fraction that is not known in bytes: "
	case q.addressed():
		return "some memory was asked for at an address (" + trace.AtAddress + "), which is not replayed: "
	case strings.Contains(q.settings, reserved):
		return "the reserve of expandable segments depends on the device's memory and on classes of streams, which the file does not say: "
	case q.pools.Private():
		return "some memory is in private pools that are not all recorded: "
	case q.Device.Overflowed:
		return "the file lost earlier events: "
	}
	return ""
}

// addressed reports whether the program asked for memory at an address.
func (q *question) addressed() bool {
	for i := range q.Device.Events.Len() {
		if q.Trace.Tables.Internal(q.Device.Events.At(i).Note) == trace.AtAddress {
			return true
		}
	}
	return false
}

// reserved begins the settings of the addresses of expandable segments.
const reserved = "expandable_segments_reserve"

// gaps returns in how many places events of the device are missing.
func (q *question) gaps() int {
	n := 0
	if q.Trace.Live != nil {
		for _, g := range q.Trace.Live.Gaps {
			if g.Device == q.Device.ID && g.Missed != 0 {
				n++
			}
		}
	}
	return n
}

var _ whatif.Ask = Answer
