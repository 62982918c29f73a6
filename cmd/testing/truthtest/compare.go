package truthtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// Answers are what memtop says of a device of a program, beside the truth.
type Answers struct {
	Device
	Report    *report.Device
	Wrong     [][]Wrong // at each moment, the most bytes first
	Allocated []int64   // at each moment
	Replayed  *whatif.Answer
}

// Wrong is memory that has a wrong category.
type Wrong struct {
	Right, Said string // categories
	Rule        string
	Where       string // the line that made the largest block
	Bytes       int64
	Count       int
	largest     int64
}

// Mislabelled returns the share of the bytes with a wrong category at a moment, in
// percent, and that of those that are said to be not known.
func (a *Answers) Mislabelled(moment int) (wrong, unknown float64) {
	for _, w := range a.Wrong[moment] {
		if share := 100 * float64(w.Bytes) / float64(max(1, a.Allocated[moment])); w.Said == trace.OtherCategory.String() {
			unknown += share
		} else {
			wrong += share
		}
	}
	return wrong, unknown
}

// Worst returns the moment with the largest share.
func (a *Answers) Worst() int {
	worst, most := 0, 0.0
	for i := range a.Wrong {
		if share, _ := a.Mislabelled(i); share > most {
			worst, most = i, share
		}
	}
	return worst
}

// Ask asks memtop what it says of the snapshot in a folder. It fails where the two do
// not even agree on which blocks there are.
func Ask(ctx context.Context, folder string, told *Told) ([]Answers, error) {
	source, err := snapshots.Open(ctx, filepath.Join(folder, "snapshot.pickle"), snapshots.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	t := source.Trace()
	indexes := make(map[int]*analysis.Index)
	var all []*analysis.Index
	for i := range t.Devices {
		x := analysis.Prepared(t, &t.Devices[i])
		indexes[t.Devices[i].ID], all = x, append(all, x)
	}
	reports := report.Of(t, all)
	if err := reports.Replay(ctx, replay.Answer); err != nil {
		return nil, err
	}
	var answers []Answers
	for _, d := range told.Devices {
		a := Answers{Device: d}
		if a.Replayed, err = replay.Answer(ctx, whatif.Question{Trace: t, Device: t.Device(d.Number)}); err != nil {
			return nil, err
		}
		for i := range reports.Devices {
			if reports.Devices[i].Device == d.Number {
				a.Report = &reports.Devices[i]
			}
		}
		if a.Report == nil || a.Report.PeakRequested != d.Peak {
			return nil, fmt.Errorf("device %d: the program's peak is %d, the report is %+v", d.Number, d.Peak, a.Report)
		}
		for _, m := range d.Moments {
			found, err := wrong(indexes[d.Number], m)
			if err != nil {
				return nil, fmt.Errorf("device %d: %w", d.Number, err)
			}
			allocated := int64(0)
			for _, b := range m.Blocks {
				allocated += b.Size
			}
			a.Wrong, a.Allocated = append(a.Wrong, found), append(a.Allocated, allocated)
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// mistake is memory with a wrong category.
type mistake struct {
	right, said string
	size        int64
}

// wrong compares block by block. Blocks of one size without a stack are all alike: there
// only the sums count.
func wrong(x *analysis.Index, m Moment) ([]Wrong, error) {
	alive := x.AliveAt(m.Event)
	if len(alive) != len(m.Blocks) {
		return nil, fmt.Errorf("the program has %d blocks after event %d, memtop %d", len(m.Blocks), m.Event, len(alive))
	}
	right := make(map[uint64]Block)
	for _, b := range m.Blocks {
		right[b.Address] = b
	}
	found := make(map[Wrong]*Wrong) // by the first three
	swapped := make(map[mistake]int)
	for _, a := range alive {
		b, known := right[a.Addr]
		if !known || b.Size != a.Size {
			return nil, fmt.Errorf("the program has no block of %d bytes at %#x after event %d", a.Size, a.Addr, m.Event)
		}
		category, rule := x.Category(a)
		if slices.Contains(b.Categories, category.String()) {
			continue
		}
		key := Wrong{Right: b.Categories[0], Said: category.String(), Rule: rule.String()}
		if a.Stack <= trace.EmptyStack {
			key.Rule = ""
			if other := (mistake{key.Said, key.Right, a.Size}); swapped[other] > 0 {
				swapped[other]--
				found[Wrong{Right: key.Said, Said: key.Right}].add(-a.Size, "")
				continue
			}
			swapped[mistake{key.Right, key.Said, a.Size}]++
		}
		if found[key] == nil {
			found[key] = &Wrong{Right: key.Right, Said: key.Said, Rule: key.Rule}
		}
		found[key].add(a.Size, x.StackName(a.Stack))
	}
	all := make([]Wrong, 0, len(found))
	for w := range maps.Values(found) {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Wrong) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all, nil
}

// add adds a block, or takes one away if its size is negative.
func (w *Wrong) add(size int64, where string) {
	if w.Bytes += size; size < 0 {
		w.Count--
		return
	}
	if w.Count++; size > w.largest {
		w.largest, w.Where = size, where
	}
}
