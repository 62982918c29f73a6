package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/memtop/memtop/snapshots/trace"
)

// Pprof
//
// The profile of `go tool pprof`, compressed: the memory in use at a moment, in
// objects and bytes like a heap profile of Go. The labels are device, category
// and, if our own engine noted them, layer and role.

func writePprof(w io.Writer, t *trace.Trace, o Options) error {
	snapshots, err := o.snapshots(o.indexes(t))
	if err != nil {
		return err
	}
	b := newProfileBuilder(t)
	for _, s := range snapshots {
		b.comment(s)
		for _, sample := range s.noted() {
			b.add(s, &sample, o.AllFrames)
		}
	}
	if err := b.p.Write(w); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	return nil
}

// profileBuilder numbers locations and functions as they come.
type profileBuilder struct {
	p         *profile.Profile
	tables    *trace.Tables
	locations map[trace.FrameID]*profile.Location
	named     map[string]*profile.Location
	functions map[[2]trace.StringID]*profile.Function
}

func newProfileBuilder(t *trace.Trace) *profileBuilder {
	// One mapping that says that names are known keeps viewers from looking for
	// a binary.
	mapping := &profile.Mapping{ID: 1, File: sourceName(t), HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
	return &profileBuilder{
		p: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
			DefaultSampleType: "inuse_space",
			PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1,
			Mapping: []*profile.Mapping{mapping},
		},
		tables:    t.Tables,
		locations: make(map[trace.FrameID]*profile.Location),
		named:     make(map[string]*profile.Location),
		functions: make(map[[2]trace.StringID]*profile.Function),
	}
}

// comment notes the moment; the latest of the devices' is the profile's time.
func (b *profileBuilder) comment(s snapshot) {
	b.p.Comments = append(b.p.Comments, deviceName(s.index)+": "+s.title())
	if s.event >= 0 {
		if when := s.index.Device().Events.At(s.event).When(); !when.IsZero() {
			b.p.TimeNanos = max(b.p.TimeNanos, when.UnixNano())
		}
	}
}

func (b *profileBuilder) add(s snapshot, of *sample, all bool) {
	frames := framesOf(s.index, of.stack, all)
	locations := make([]*profile.Location, 0, len(frames)+1)
	for _, frame := range frames {
		locations = append(locations, b.location(frame))
	}
	if len(frames) == 0 {
		locations = append(locations, b.namedLocation(of.named()))
	}
	b.p.Sample = append(b.p.Sample, &profile.Sample{
		Location: locations, Value: []int64{of.count, of.bytes},
		Label: b.labels(s, of),
	})
}

// labels returns the labels that say what a sample's memory is for. pprof's
// -tagfocus and -tagroot select by them.
func (b *profileBuilder) labels(s snapshot, of *sample) map[string][]string {
	labels := map[string][]string{
		"category": {of.category.String()}, "device": {strconv.Itoa(s.index.Device().ID)},
	}
	for name, id := range map[string]trace.StringID{"layer": of.layer, "role": of.role} {
		if text := b.tables.String(id); text != "" {
			labels[name] = []string{label(text)}
		}
	}
	return labels
}

func (b *profileBuilder) location(id trace.FrameID) *profile.Location {
	if l, ok := b.locations[id]; ok {
		return l
	}
	frame := b.tables.Frames[id]
	key := [2]trace.StringID{frame.File, frame.Name}
	function, ok := b.functions[key]
	if !ok {
		function = b.function(functionName(b.tables, id), label(b.tables.String(frame.Name)), label(b.tables.String(frame.File)))
		b.functions[key] = function
	}
	l := b.newLocation(function, int64(frame.Line))
	b.locations[id] = l
	return l
}

// namedLocation is a place that is only a name.
func (b *profileBuilder) namedLocation(name string) *profile.Location {
	l, ok := b.named[name]
	if !ok {
		l = b.newLocation(b.function(name, "", ""), 0)
		b.named[name] = l
	}
	return l
}

// function adds a function. Where own, the system's name, equals name, pprof shows it without what is in brackets:
// that is right for C++, and would leave nothing of Python's <lambda>, so there the profile has the name only once.
func (b *profileBuilder) function(name, own, file string) *profile.Function {
	if own == name && !strings.Contains(name, "::") {
		own = ""
	}
	f := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: own, Filename: file}
	b.p.Function = append(b.p.Function, f)
	return f
}

func (b *profileBuilder) newLocation(f *profile.Function, line int64) *profile.Location {
	l := &profile.Location{
		ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0], Line: []profile.Line{{Function: f, Line: line}},
	}
	b.p.Location = append(b.p.Location, l)
	return l
}
