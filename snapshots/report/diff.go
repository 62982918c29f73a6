package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/trace"
)

// DiffKind says how an item differs between two traces.
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

// Diff lists the changes from one trace to another. It leaves out what is equal.
// Sizes are bytes.
type Diff struct {
	Schema      string       `json:"schema"`
	Devices     []DeviceDiff `json:"devices"`
	Annotations bool         `json:"annotations_differ"`
	Settings    bool         `json:"settings_differ"`
}

// DeviceDiff lists the changes on one device, between the ends of two traces or
// between two moments.
type DeviceDiff struct {
	Device     int                  `json:"device"`
	Only       *DiffKind            `json:"only,omitempty"` // Appeared or Vanished when one trace lacks the device, else nil
	Before     MomentOfDiff         `json:"before"`
	After      MomentOfDiff         `json:"after"`
	Numbers    []NumberDiff         `json:"numbers"`
	Categories []NumberDiff         `json:"categories"`
	Causes     []CauseDiff          `json:"causes"` // their changes sum to the change of Requested
	Explained  difference.Explained `json:"explained"`
	Lines      []PlaceDiff          `json:"lines"`
	Modules    []PlaceDiff          `json:"modules"`
	Phases     []PlaceDiff          `json:"phases"` // by when it was allocated, seen from the moment
	Stacks     []StackDiff          `json:"stacks"`
	Segments   []RangeDiff          `json:"segments"`
	Blocks     []RangeDiff          `json:"blocks"`
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

// StackDiff is the memory of a stack before and after.
type StackDiff struct {
	Change DiffKind `json:"change"`
	Name   string   `json:"name"`
	Frames []string `json:"frames"` // "file:line function", innermost first
	Sides
}

// Sides is the memory of an item before and after.
type Sides struct {
	Before      int64 `json:"before"`
	After       int64 `json:"after"`
	CountBefore int   `json:"count_before"`
	CountAfter  int   `json:"count_after"`
}

// Delta returns the difference in bytes.
func (s *Sides) Delta() int64 { return s.After - s.Before }

func sidesOf(r *difference.Row) Sides { return Sides{r.Bytes[0], r.Bytes[1], r.Count[0], r.Count[1]} }

// RangeDiff is a segment or a block on one side only, or a segment that changed
// its size.
type RangeDiff struct {
	Change DiffKind `json:"change"`
	Addr   uint64   `json:"address"`
	Size   int64    `json:"size"`            // of a segment that changed: by how much
	State  string   `json:"state,omitempty"` // of a block
}

// Empty reports whether the traces are equal.
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
	d := newDiff(a, b)
	for i := range d.Devices { // which only one of them has
		id := d.Devices[i].Device
		d.Devices[i].Numbers = compareNumbers(summaryOf(a, id), summaryOf(b, id))
	}
	d.Annotations, d.Settings = !sameAnnotations(a, b), !sameSettings(a.Settings, b.Settings)
	merged := difference.Merge(a.Tables, b.Tables)
	xs, ys := shared(a, b)
	for i, x := range xs {
		y := ys[i]
		device := compare(merged, x, x.End(), y, y.End())
		device.Numbers = compareNumbers(x.Summary(), y.Summary())
		device.FirstEvent = merged.FirstDifference(x.Device().Events, y.Device().Events)
		d.add(device)
	}
	return d
}

// NewDiffAt compares a moment of one trace with one of another, or of the same.
// It returns an [analysis.MomentError] if a trace does not have the moment.
func NewDiffAt(a *trace.Trace, from analysis.Moment, b *trace.Trace, to analysis.Moment) (*Diff, error) {
	xs, ys := shared(a, b)
	before, err := from.Of(xs)
	if err != nil {
		return nil, err
	}
	after, err := to.Of(ys)
	if err != nil {
		return nil, err
	}
	d := newDiff(a, b)
	merged := difference.Merge(a.Tables, b.Tables)
	for i := range xs {
		d.add(diffMoments(merged, xs[i], before[i], ys[i], after[i]))
	}
	return d, nil
}

// newDiff returns a difference with the devices that only one of the traces has.
func newDiff(a, b *trace.Trace) *Diff {
	d := &Diff{Schema: DiffSchema, Devices: []DeviceDiff{}}
	for change, sides := range map[DiffKind][2]*trace.Trace{Vanished: {a, b}, Appeared: {b, a}} {
		for i := range sides[0].Devices {
			if id := sides[0].Devices[i].ID; sides[1].Device(id) == nil {
				device := newDeviceDiff(id)
				device.Only = &change
				d.add(device)
			}
		}
	}
	return d
}

// newDeviceDiff returns the difference of a device on which nothing changed.
func newDeviceDiff(id int) DeviceDiff {
	return DeviceDiff{
		Device: id, Numbers: []NumberDiff{}, Categories: []NumberDiff{}, Causes: []CauseDiff{}, Lines: []PlaceDiff{}, Modules: []PlaceDiff{},
		Phases: []PlaceDiff{}, Stacks: []StackDiff{}, Segments: []RangeDiff{}, Blocks: []RangeDiff{}, FirstEvent: -1,
	}
}

// summaryOf returns zeros for a device that the trace lacks.
func summaryOf(t *trace.Trace, id int) (s analysis.Summary) {
	if device := t.Device(id); device != nil {
		s = analysis.NewIndex(t, device).Summary()
	}
	return s
}

// add adds a device in the order of their numbers.
func (d *Diff) add(device DeviceDiff) {
	at, _ := slices.BinarySearchFunc(d.Devices, device.Device, func(e DeviceDiff, id int) int { return cmp.Compare(e.Device, id) })
	d.Devices = slices.Insert(d.Devices, at, device)
}

// shared returns indexes of the devices that both traces have.
func shared(a, b *trace.Trace) (xs, ys []*analysis.Index) {
	for i := range a.Devices {
		if after := b.Device(a.Devices[i].ID); after != nil {
			xs, ys = append(xs, analysis.NewIndex(a, &a.Devices[i])), append(ys, analysis.NewIndex(b, after))
		}
	}
	return xs, ys
}

func diffMoments(merged *difference.Merged, x *analysis.Index, from int, y *analysis.Index, to int) DeviceDiff {
	d := compare(merged, x, from, y, to)
	d.Numbers = changedNumbers([]NumberDiff{
		{"requested", x.RequestedAt(from), y.RequestedAt(to)},
		{"reserved", x.ReservedAt(from), y.ReservedAt(to)},
	})
	return d
}

func compare(merged *difference.Merged, x *analysis.Index, from int, y *analysis.Index, to int) DeviceDiff {
	before, after := difference.Side{Index: x, At: from}, difference.Side{Index: y, At: to}
	d := newDeviceDiff(x.Device().ID)
	d.Before, d.After = momentOf(before), momentOf(after)
	d.addDifference(difference.Of(merged, before, after))
	d.Stacks = compareStacks(merged, before, after)
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
func sameSettings(a, b []trace.Setting) bool { return settingText(a) == settingText(b) }

// settingText writes a value of a setting, those within it by key.
func settingText(v any) string {
	var parts []string
	switch v := v.(type) {
	case []trace.Setting:
		for _, s := range v {
			parts = append(parts, fmt.Sprintf("%q:%s", s.Key, settingText(s.Value)))
		}
		slices.Sort(parts)
	case []any:
		for _, item := range v {
			parts = append(parts, settingText(item))
		}
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
	return "[" + strings.Join(parts, ",") + "]"
}
