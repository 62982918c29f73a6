package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// unevenness compares the devices of one program at their peaks.
type unevenness struct {
	all  []*Index // the devices that take part in the work, the fullest first
	more int64    // what the fullest holds more than the next lower median of the others
}

// Uneven says which device of a program holds much more than the others, of what, and
// how much of it another device could hold. It returns nil if there are no such
// devices. The indexes are of all devices of one trace.
func Uneven(all []*Index) (*Index, *Finding) {
	u := unevenness{all: slices.Clone(all)}
	slices.SortStableFunc(u.all, func(a, b *Index) int { return cmp.Compare(b.peakBytes(), a.peakBytes()) })
	fullest := u.all[:min(len(u.all), 1)]
	u.all = slices.DeleteFunc(u.all, func(x *Index) bool { return !x.works(fullest[0]) })
	if len(u.all) < 2 {
		return nil, nil
	}
	x, n := u.all[0], len(u.all)
	u.more = x.peakBytes() - u.all[1+(n-1)/2].peakBytes()
	if u.more*5 < x.peakBytes() || u.more < 64<<20 {
		return nil, nil
	}
	found := &Finding{
		Kind: UnevenFinding, Severity: Warning, Bytes: u.more, Confidence: Possible, Where: Where{Event: x.Summary().PeakEvent},
		Evidence: u.evidence(),
	}
	u.remedy(found)
	return x, found
}

// works reports whether a device takes part in the work of the fullest one: it holds a
// fiftieth of what that holds, or of its weights, if that ran out of memory before the
// work came to this device. Others hold a few results.
func (x *Index) works(fullest *Index) bool {
	const part = 50
	if x.peakBytes()*part >= fullest.peakBytes() {
		return true
	}
	weights := x.peakFacts().categories[trace.Parameter]
	return len(fullest.oomEvents) > 0 && weights > 0 && weights*part >= fullest.peakFacts().categories[trace.Parameter]
}

func (x *Index) peakBytes() int64 { return x.Summary().PeakRequested }

func (u *unevenness) evidence() string {
	x, than := u.all[0], fmt.Sprintf("device %d", u.all[1].device.ID)
	if n := len(u.all); n > 2 {
		than = fmt.Sprintf("the median of %d others", n-1)
	}
	text := fmt.Sprintf("Device %d holds %s at its peak, %s more than %s", x.device.ID, quantity.Bytes(x.peakBytes()), quantity.Bytes(u.more), than)
	if len(x.oomEvents) > 0 {
		text += ", and ran out of memory"
	}
	if parts := u.parts(); parts != "" {
		text += ": " + parts
	}
	return text
}

// parts names the categories that are a tenth of what the fullest device holds more,
// and the line that holds most of the largest.
func (u *unevenness) parts() string {
	type part struct {
		category trace.Category
		more     int64
	}
	var parts []part
	held := u.all[0].peakFacts().categories
	for _, c := range trace.Categories {
		var others []int64
		for _, x := range u.all[1:] {
			others = append(others, x.peakFacts().categories[c])
		}
		slices.Sort(others)
		if more := held[c] - others[(len(others)-1)/2]; more*10 >= u.more {
			parts = append(parts, part{c, more})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.more, a.more) })
	var texts []string
	for _, p := range parts[:min(len(parts), 3)] {
		texts = append(texts, fmt.Sprintf("%v +%s", p.category, quantity.Bytes(p.more)))
	}
	return strings.Join(texts, ", ")
}

// remedy says how the devices would hold the same. What a split model has on one device
// can go to another; a wrapper that keeps its state on one device has to be replaced.
func (u *unevenness) remedy(found *Finding) {
	x := u.all[0]
	switch {
	case x.calledFrom("torch/nn/parallel/parallel_apply.py"):
		found.Remedy = "nn.DataParallel keeps the optimizer's state, the gradients and all results on one device; a process for each device divides them (fully_shard)"
	case x.calledFrom("accelerate/hooks.py"):
		found.Remedy, found.Saving = u.moved("A device_map that gives %s to device %d evens them")
	default:
		found.Remedy, found.Saving = u.moved("Moving %s to device %d evens them")
	}
}

// moved says how much of a split model another device could have, and how many bytes
// that are. Where memory ran out before all was there, they are not known.
func (u *unevenness) moved(form string) (text string, bytes int64) {
	x, least := u.all[0], u.all[len(u.all)-1]
	switch {
	case least.peakFacts().categories[trace.Parameter] == 0:
		return "", 0 // it has no part of the model
	case len(x.oomEvents) > 0:
		return fmt.Sprintf(form, "a part", least.device.ID), 0
	}
	mean := int64(0)
	for _, other := range u.all {
		mean += other.peakBytes() / int64(len(u.all))
	}
	bytes = x.peakBytes() - mean
	return fmt.Sprintf(form, quantity.Bytes(bytes), least.device.ID), bytes
}

// calledFrom reports whether a file is on any stack.
func (x *Index) calledFrom(file string) bool {
	return slices.ContainsFunc(x.tables.Frames, func(f trace.Frame) bool {
		return strings.HasSuffix(lines.Slashed(x.tables.String(f.File)), file)
	})
}
