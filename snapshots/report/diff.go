package report

import (
	"cmp"
	"slices"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
)

// DiffKind says what became of something from one trace to the other.
type DiffKind uint8

// The kinds of differences.
const (
	Grew DiffKind = iota
	Shrank
	Appeared
	Vanished
)

// String returns the kind's name.
func (k DiffKind) String() string { return [...]string{"grew", "shrank", "appeared", "vanished"}[k] }

// MarshalText writes the kind's name.
func (k DiffKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// DiffSchema names the version of a diff's JSON form.
const DiffSchema = "memtop.diff/1"

// changeOf names the kind of change between two sizes, and whether there is one.
func changeOf(before, after int64) (DiffKind, bool) {
	switch {
	case before == after:
		return 0, false
	case before == 0:
		return Appeared, true
	case after == 0:
		return Vanished, true
	case after > before:
		return Grew, true
	default:
		return Shrank, true
	}
}

// Diff is what changed from one trace to another. Only what differs is listed.
// Sizes are bytes.
type Diff struct {
	Schema      string       `json:"schema"`
	Devices     []DeviceDiff `json:"devices"`
	Annotations bool         `json:"annotations_differ"`
	Settings    bool         `json:"settings_differ"`
}

// DeviceDiff is what changed on one device, between the ends of two traces or
// between two moments.
type DeviceDiff struct {
	Device     int          `json:"device"`
	Only       *DiffKind    `json:"only,omitempty"` // Appeared or Vanished when one trace lacks the device, else nil
	Numbers    []NumberDiff `json:"numbers"`
	Categories []NumberDiff `json:"categories"`
	Stacks     []StackDiff  `json:"stacks"`
	Segments   []RangeDiff  `json:"segments"`
	Blocks     []RangeDiff  `json:"blocks"`
	// FirstEvent is the first event in which the histories differ, −1 when they
	// are the same or moments were compared.
	FirstEvent int `json:"first_different_event"`
}

// NumberDiff is a number of bytes before and after.
type NumberDiff struct {
	Name   string `json:"name"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// Delta returns the difference.
func (n NumberDiff) Delta() int64 { return n.After - n.Before }

// StackDiff is what a stack holds before and after.
type StackDiff struct {
	Change      DiffKind `json:"change"`
	Name        string   `json:"name"`
	Frames      []string `json:"frames"` // "file:line function", innermost first
	Before      int64    `json:"before"`
	After       int64    `json:"after"`
	CountBefore int      `json:"count_before"`
	CountAfter  int      `json:"count_after"`
}

// Delta returns the difference in bytes.
func (s StackDiff) Delta() int64 { return s.After - s.Before }

// RangeDiff is a segment or a block that only one side has, or a segment that
// changed its size.
type RangeDiff struct {
	Change DiffKind `json:"change"`
	Addr   uint64   `json:"address"`
	Size   int64    `json:"size"`            // of a segment that changed: by how much
	State  string   `json:"state,omitempty"` // of a block
}

// Empty reports whether the traces say the same.
func (d *Diff) Empty() bool {
	for i := range d.Devices {
		if !d.Devices[i].Empty() {
			return false
		}
	}
	return !d.Annotations && !d.Settings
}

// Empty reports whether nothing changed on the device.
func (d *DeviceDiff) Empty() bool {
	return d.Only == nil && len(d.Numbers)+len(d.Categories)+len(d.Stacks)+len(d.Segments)+len(d.Blocks) == 0 && d.FirstEvent < 0
}

// NewDiff compares the ends of two traces, and their histories.
func NewDiff(a, b *trace.Trace) *Diff {
	d := &Diff{Schema: DiffSchema, Devices: []DeviceDiff{}, Annotations: !sameAnnotations(a, b), Settings: !sameSettings(a.Settings, b.Settings)}
	merged := newMerger(a.Tables, b.Tables)
	for i := range a.Devices {
		before := &a.Devices[i]
		after := b.Device(before.ID)
		if after == nil {
			d.Devices = append(d.Devices, DeviceDiff{Device: before.ID, Only: only(Vanished), FirstEvent: -1})
			continue
		}
		x, y := analysis.NewIndex(a, before), analysis.NewIndex(b, after)
		device := compare(merged, x, x.End(), y, y.End())
		device.Numbers = compareNumbers(x.Summary(), y.Summary())
		device.FirstEvent = merged.firstDifference(x.Device().Events, y.Device().Events)
		d.Devices = append(d.Devices, device)
	}
	for i := range b.Devices {
		if a.Device(b.Devices[i].ID) == nil {
			d.Devices = append(d.Devices, DeviceDiff{Device: b.Devices[i].ID, Only: only(Appeared), FirstEvent: -1})
		}
	}
	slices.SortStableFunc(d.Devices, func(a, b DeviceDiff) int { return cmp.Compare(a.Device, b.Device) })
	return d
}

func only(c DiffKind) *DiffKind { return &c }

// DiffMoments compares what was held right after event from of x with what was
// held right after event to of y. The indexes may be the same one.
func DiffMoments(x *analysis.Index, from int, y *analysis.Index, to int) DeviceDiff {
	d := compare(newMerger(x.Trace().Tables, y.Trace().Tables), x, from, y, to)
	d.Numbers = append(d.Numbers, changedNumbers([]NumberDiff{
		{"requested", x.RequestedAt(from), y.RequestedAt(to)},
		{"reserved", x.ReservedAt(from), y.ReservedAt(to)},
	})...)
	return d
}

func compare(merged *merger, x *analysis.Index, from int, y *analysis.Index, to int) DeviceDiff {
	d := DeviceDiff{Device: x.Device().ID, FirstEvent: -1}
	before, after := x.CountCategories(from), y.CountCategories(to)
	for _, c := range trace.Categories {
		d.Categories = append(d.Categories, NumberDiff{c.String(), before[c], after[c]})
	}
	d.Categories = changedNumbers(d.Categories)
	d.Stacks = merged.compareStacks(x, from, y, to)
	d.compareMaps(x.SegmentsAt(from), y.SegmentsAt(to))
	return d
}

func compareNumbers(a, b analysis.Summary) []NumberDiff {
	return changedNumbers([]NumberDiff{
		{"requested", a.Requested, b.Requested},
		{"allocated", a.Allocated, b.Allocated},
		{"active", a.Active, b.Active},
		{"reserved", a.Reserved, b.Reserved},
		{"free", a.Free, b.Free},
		{"largest free block", a.LargestFreeBlock, b.LargestFreeBlock},
		{"peak requested", a.PeakRequested, b.PeakRequested},
		{"peak reserved", a.PeakReserved, b.PeakReserved},
		{"initial requested", a.InitialRequested, b.InitialRequested},
	})
}

func changedNumbers(numbers []NumberDiff) []NumberDiff {
	return slices.DeleteFunc(numbers, func(n NumberDiff) bool { return n.Before == n.After })
}

func sameAnnotations(a, b *trace.Trace) bool {
	return slices.EqualFunc(a.Annotations, b.Annotations, func(p, q trace.Annotation) bool {
		return p.Device == q.Device && p.Time == q.Time && a.Tables.String(p.Name) == b.Tables.String(q.Name) &&
			a.Tables.String(p.Stage) == b.Tables.String(q.Stage)
	})
}

// sameSettings compares settings without regard to their order.
func sameSettings(a, b []trace.Setting) bool {
	sorted := func(s []trace.Setting) []trace.Setting {
		s = slices.Clone(s)
		slices.SortStableFunc(s, func(p, q trace.Setting) int { return strings.Compare(p.Key, q.Key) })
		return s
	}
	return slices.EqualFunc(sorted(a), sorted(b), func(p, q trace.Setting) bool { return p.Key == q.Key && sameValue(p.Value, q.Value) })
}

func sameValue(a, b any) bool {
	switch p := a.(type) {
	case []trace.Setting:
		q, ok := b.([]trace.Setting)
		return ok && sameSettings(p, q)
	case []any:
		q, ok := b.([]any)
		return ok && slices.EqualFunc(p, q, sameValue)
	case float64:
		q, ok := b.(float64)
		return ok && (p == q || p != p && q != q)
	default:
		return a == b
	}
}
