package analysis

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// kept is memory at the peak that one keeper keeps.
type kept struct {
	keeper string
	bytes  int64
	count  int
	stack  trace.StackID // of the first
	parts  uint          // a bit for each part of the time until the peak in which some of it was made
}

// grows reports whether it was made over the time until the peak, and not in one go.
func (k *kept) grows(peak int) bool {
	return bits.OnesCount(k.parts) >= growthMoments-2 && 2*k.count <= peak
}

// keepers says what keeps a twentieth of the peak, as the writer has noted it.
func (f *finder) keepers() {
	if f.watched() {
		return
	}
	var all grouped.By[string, kept]
	for _, a := range f.index.alive(f.summary.PeakEvent) {
		keeper := f.index.keeper(a.Note)
		if keeper == "" {
			continue
		}
		k := all.Of(keeper)
		if k.keeper == "" {
			k.keeper, k.stack = keeper, a.Stack
		}
		k.bytes, k.count = k.bytes+a.Size, k.count+1
		k.parts |= 1 << (max(a.Open, 0) * growthMoments / max(1, f.summary.PeakEvent+1))
	}
	for _, k := range all.List {
		if Percent(k.bytes, f.summary.PeakRequested) >= 5 {
			f.add(k.finding(f.summary.PeakEvent))
		}
	}
}

// ways are what may keep memory, by words of a keeper, and what frees it.
var ways = []struct {
	words, remedy string
	once          bool // it is made in one go
}{
	{"reference cycle", "a weak reference in place of one in the cycle frees it at once, gc.collect() where it should go does too", false},
	{"the context of ", "ctx.save_for_backward() in place of an attribute gives it back with the graph", false},
	{"no optimizer has", "torch.no_grad() where these are used, or requires_grad_(False), makes none", false},
	{" with its graph", "detach() what is carried on, and its graph goes with its step", false},
	{"the buffers ", "where these are alike, one for all, or of the length that is needed, takes a part of it", true},
	{"views in ", "a clone() of the part that is needed frees the rest", false},
}

func (k *kept) finding(event int) Finding {
	found := Finding{
		Kind: KeptFinding, Bytes: k.bytes, Where: Where{event, k.stack},
		Evidence: fmt.Sprintf("%s of the peak, %s, is kept by %s", quantity.Bytes(k.bytes), quantity.Plural(k.count, "tensor"), k.keeper),
	}
	grows := k.grows(event)
	if grows {
		found.Severity, found.Remedy = Warning, "take out what is no longer needed, or keep it in the host's memory"
	}
	for _, way := range ways {
		if strings.Contains(k.keeper, way.words) {
			found.Severity, found.Remedy, grows = Warning, way.remedy, grows && !way.once
			break
		}
	}
	if grows {
		found.Evidence += ", and grows"
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

// keptAlone reports whether something keeps memory with a note, and no graph does.
func (x *Index) keptAlone(note trace.NoteID) bool {
	keeper := x.keeper(note)
	return keeper != "" && !leak.HasGraph(keeper)
}

// Held is live memory of one line that is for one thing and that one keeper keeps.
type Held struct {
	Line     string `json:"line"` // "file:line function"
	Category string `json:"category"`
	Bytes    int64  `json:"bytes"`
	Count    int    `json:"count"`
	Keeper   string `json:"keeper"` // the variable, container or graph that keeps it, "" if none is noted
}

// HeldAt returns the live memory right after an event, the largest first.
func (x *Index) HeldAt(at int) []Held {
	all, name := grouped.By[Held, Held]{List: make([]Held, 0)}, once(x.StackName)
	for _, a := range x.alive(x.clamp(at)) {
		category, _ := x.Category(a)
		held := Held{Line: name(a.Stack), Category: category.String(), Keeper: x.keeper(a.Note)}
		h := all.Of(held)
		held.Bytes, held.Count = h.Bytes+a.Size, h.Count+1
		*h = held
	}
	slices.SortStableFunc(all.List, func(a, b Held) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all.List
}
