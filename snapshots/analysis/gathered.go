package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Gathered is weights that ranks divide and of which this one has all parts.
type Gathered struct {
	Name  string `json:"name"` // of the module, as the writer notes it, else of its weight or of the line that gathered it
	Bytes int64  `json:"bytes"`
	Count int    `json:"count"`
	From  int    `json:"from_event"`  // that made the first, −1 for before the first event
	Until *int   `json:"until_event"` // that freed the last, nil if it is there at the end
}

// GatheredAt returns the gathered weights that are alive right after an event, those first that are so for longest.
func (x *Index) GatheredAt(event int) []Gathered {
	all, line := grouped.By[string, Gathered]{List: make([]Gathered, 0)}, once(x.StackName)
	for _, a := range x.gatheredAt(event, nil) {
		note := &x.tables.Notes[a.Note]
		name := cmp.Or(trace.Printable(x.tables.String(note.Layer)), trace.Printable(x.tables.String(note.Role)), line(a.Stack))
		g := all.Of(name)
		if g.Count == 0 {
			*g = Gathered{Name: name, From: a.Open, Until: new(int)}
		}
		g.Bytes, g.Count = g.Bytes+a.Size, g.Count+1
		switch {
		case a.Close == trace.Never:
			g.Until = nil
		case g.Until != nil:
			*g.Until = max(*g.Until, a.Close)
		}
	}
	return all.List
}

// gatheredAt returns the gathered weights that are alive right after an event, in the order in which they were made. It
// calls others, if that is not nil, with all that is alive, in the same order.
func (x *Index) gatheredAt(event int, others func(a *trace.Allocation, c trace.Category)) (found []trace.Allocation) {
	if x.CategoriesAt(event)[trace.GatheredParameter] == 0 {
		return nil
	}
	all := slices.Clone(x.alive(x.clamp(event)))
	slices.SortStableFunc(all, func(a, b trace.Allocation) int { return cmp.Compare(a.Open, b.Open) })
	for i := range all {
		c, _ := x.Category(all[i])
		if others != nil {
			others(&all[i], c)
		}
		if c == trace.GatheredParameter {
			found = append(found, all[i])
		}
	}
	return found
}

// When says between which events they are gathered.
func (g *Gathered) When() string {
	if g.Until == nil {
		return fmt.Sprintf("from event %d to the end", g.From)
	}
	return fmt.Sprintf("events %d to %d", g.From, *g.Until)
}

// gathered says that all weights are gathered at once: as one unit, or each in the forward pass of its layer, after
// which it stays.
func (f *finder) gathered() {
	var bytes int64
	shards, runs, computed := 0, 0, true
	whole := f.index.gatheredAt(f.summary.PeakEvent, func(a *trace.Allocation, c trace.Category) {
		switch c {
		case trace.GatheredParameter:
			if bytes += a.Size; computed {
				runs++
			}
			computed = false
		case trace.Parameter:
			shards++
		case trace.Activation:
			computed = true
		}
	})
	if len(whole) < 2*growthFew && runs < growthFew || len(whole)*10 < shards*9 || Percent(bytes, f.summary.PeakRequested) < 10 {
		return
	}
	found := Finding{
		Kind: GatheredFinding, Severity: Warning, Bytes: bytes, Where: Where{f.summary.PeakEvent, whole[0].Stack},
		Evidence: fmt.Sprintf("All of %d weights are gathered at once: %s of the peak", len(whole), quantity.Bytes(bytes)),
		Remedy:   "fully_shard() of each layer, resharded after forward, gathers those of one or two layers at a time",
	}
	if runs >= growthFew {
		since := Gathered{From: whole[0].Open}
		if last := slices.MaxFunc(whole, func(a, b trace.Allocation) int { return cmp.Compare(a.Close, b.Close) }).Close; last != trace.Never {
			since.Until = &last
		}
		found.Kind = StaysGatheredFinding
		found.Evidence = fmt.Sprintf("All of %d weights are gathered, %s of the peak: one layer after another, and each stays after its forward (%s)", len(whole), quantity.Bytes(bytes), since.When())
		found.Remedy = f.index.reshards(whole[0].Stack)
	}
	f.add(found)
}

// reshards says what frees gathered weights after the forward of their layer.
func (x *Index) reshards(stack trace.StackID) string {
	for _, frame := range x.tables.Stack(stack) {
		if strings.HasSuffix(lines.Slashed(x.tables.String(x.tables.Frames[frame].File)), "/fsdp/_flat_param.py") {
			return "ShardingStrategy.FULL_SHARD frees those of a layer then, and gathers them again for backward"
		}
	}
	return "fully_shard() without reshard_after_forward=False frees those of a layer then, and gathers them again for backward"
}
