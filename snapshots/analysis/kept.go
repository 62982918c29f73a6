package analysis

import (
	"fmt"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// kept is memory at the peak that one keeper keeps.
type kept struct {
	keeper string
	bytes  int64
	count  int
	stack  trace.StackID       // of the first
	parts  [growthMoments]bool // the parts of the time until the peak in which some of it was made
}

// grows reports whether it was made over the whole time until the peak.
func (k *kept) grows() bool {
	made := 0
	for _, some := range k.parts {
		if some {
			made++
		}
	}
	return made >= growthMoments-2
}

// keepers says what keeps a twentieth of the peak, as the writer has noted it.
func (f *finder) keepers() {
	all := make(map[string]*kept)
	var order []*kept
	for _, a := range f.index.alive(f.summary.PeakEvent) {
		keeper := f.index.keeper(a.Note)
		if keeper == "" {
			continue
		}
		k := all[keeper]
		if k == nil {
			k = &kept{keeper: keeper, stack: a.Stack}
			all[keeper], order = k, append(order, k)
		}
		k.bytes, k.count = k.bytes+a.Size, k.count+1
		k.parts[max(a.Open, 0)*growthMoments/(f.summary.PeakEvent+1)] = true
	}
	for _, k := range order {
		if Percent(k.bytes, f.summary.PeakRequested) >= 5 && !f.watched() {
			f.add(k.finding(f.summary.PeakEvent))
		}
	}
}

// ways are what may keep memory, by words of a keeper, and what frees it.
var ways = []struct{ words, remedy string }{
	{"reference cycle", "a weak reference in place of one in the cycle frees it at once, gc.collect() where it should go does too"},
	{"the context of ", "ctx.save_for_backward() in place of an attribute gives it back with the graph"},
	{"no optimizer has", "torch.no_grad() where these are used, or requires_grad_(False), makes none"},
	{" with its graph", "detach() what is carried on, and its graph goes with its step"},
	{"views in ", "a clone() of the part that is needed frees the rest"},
}

func (k *kept) finding(event int) Finding {
	found := Finding{
		Kind: KeptFinding, Bytes: k.bytes, Where: Where{event, k.stack},
		Evidence: fmt.Sprintf("%s of the peak, %s, is kept by %s", quantity.Bytes(k.bytes), quantity.Plural(k.count, "tensor"), k.keeper),
	}
	if k.grows() {
		found.Severity, found.Evidence = Warning, found.Evidence+", and grows"
		found.Remedy = "take out what is no longer needed, or keep it in the host's memory"
	}
	for _, way := range ways {
		if strings.Contains(k.keeper, way.words) {
			found.Severity, found.Remedy = Warning, way.remedy
			break
		}
	}
	return found
}

// keeper returns what keeps memory with a note, "" if that is not noted.
func (x *Index) keeper(note trace.NoteID) string {
	return trace.Printable(leak.Keeper(x.tables.String(x.tables.Notes[note].Role)))
}

// beyond reports whether something keeps memory with a note beyond its step, and no variable or container of the
// program does, which it could empty.
func (x *Index) beyond(note trace.NoteID) bool {
	keeper := x.keeper(note)
	return leak.HasGraph(keeper) || keeper != "" && !strings.Contains(keeper, "[…]")
}
