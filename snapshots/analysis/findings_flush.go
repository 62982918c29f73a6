package analysis

import (
	"fmt"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// flushes returns the segments that went back to the driver. What is collected at a
// threshold was not refused.
func (x *Index) flushes() *trace.Flushes {
	f := trace.NewFlushes(x.initialReserved)
	for _, at := range x.segmentEvents {
		f.Add(int(at), x.events.At(int(at)))
	}
	for _, s := range x.trace.Settings {
		if threshold, _ := s.Value.(float64); s.Key == "garbage_collection_threshold" && threshold > 0 {
			f.All = nil
		}
	}
	return f
}

// flushed says how often the driver refused memory, and how often the program itself
// emptied the cache within its loop.
func (f *finder) flushed() {
	flushes := f.index.flushes()
	level, times := flushes.Refused(f.summary.PeakReserved)
	var refused trace.Flush
	calls := once(f.index.empties)
	emptied, loop := make(map[trace.StackID]emptyings), trace.EmptyStack
	for i := range flushes.All {
		one := &flushes.All[i]
		if one.Refused > 0 {
			refused.Bytes, refused.Time, refused.Event, refused.Stack = refused.Bytes+one.Bytes, refused.Time+one.Time, one.Event, one.Stack
		} else if calls(one.Stack) {
			e := emptied[one.Stack]
			emptied[one.Stack] = emptyings{e.times + 1, e.segments + one.Segments, e.bytes + one.Bytes, one.Event}
			if e.times >= emptied[loop].times {
				loop = one.Stack
			}
		}
	}
	if times > 0 {
		f.add(Finding{
			Kind: FlushFinding, Severity: Warning, Bytes: refused.Bytes, Where: Where{refused.Event, refused.Stack}, Remedy: f.index.remedy(),
			Evidence: refusedText(&refused, times) + f.capacity(level),
		})
	}
	if e := emptied[loop]; e.times >= max(fewestEmptyings, len(f.index.Steps())/rareEmptyings) {
		f.add(Finding{
			Kind: EmptyCacheFinding, Severity: Warning, Bytes: e.bytes, Where: Where{e.last, loop},
			Evidence: fmt.Sprintf("empty_cache is called in a loop at %s: %s times it gave back %d segments, %s in all, which the next allocations ask for again",
				f.index.StackName(loop), quantity.Count(e.times), e.segments, quantity.Bytes(e.bytes)),
			Remedy: "without the call the segments are used again at once",
		})
	}
}

// emptyings is how often one line emptied the cache, and what that gave back.
type emptyings struct {
	times, segments int
	bytes           int64
	last            int // event
}

// refusedText says how often the driver refused memory and what that cost.
func refusedText(all *trace.Flush, times int) string {
	text := fmt.Sprintf("The driver refused memory %s: the allocator waited for the device and gave back its cache, %s in all",
		quantity.Plural(times, "time"), quantity.Bytes(all.Bytes))
	if all.Time >= 1000 { // what is shorter costs nothing
		text += ", in " + spanText(time.Duration(all.Time)*time.Microsecond)
	}
	return text
}

// capacity says what the refusals show of the device.
func (f *finder) capacity(refused int64) string {
	had := quantity.Bytes(f.summary.PeakReserved)
	if refused == 0 {
		return fmt.Sprintf(". At another time the process had as much, %s at most: something else used the device", had)
	}
	return fmt.Sprintf(". The process had %s at most, and the device has less than %s for it", had, quantity.Bytes(refused))
}

// A line that empties the cache in a loop does so this often at least, and in one of so
// many steps: once in an epoch costs nothing.
const (
	fewestEmptyings = 4
	rareEmptyings   = 10
)

// empties reports whether the program calls empty_cache on a stack. PyTorch itself does
// so before it captures a graph.
func (x *Index) empties(stack trace.StackID) (calls bool) {
	for _, frame := range x.tables.Stack(stack) {
		if strings.HasSuffix(lines.Slashed(x.tables.FrameFile(frame)), "torch/cuda/graphs.py") {
			return false
		}
		calls = calls || x.tables.FrameName(frame) == "empty_cache"
	}
	return calls
}
