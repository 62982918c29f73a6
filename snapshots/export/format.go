package export

import (
	"io"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// Format is one way to write a trace.
type Format struct {
	Name  string
	About string // a few words for help
	// Extensions are how names of such files end, the usual one first, each with
	// its dot.
	Extensions []string
	// Moment says that the format shows one moment, chosen by Options.At. Stacks
	// says that it has whole stacks, in which Options.AllFrames keeps more frames.
	Moment, Stacks bool
	// Findings says that the format has findings, those of Options.Report.
	Findings bool
	// Write writes the trace. It streams where the format allows it, and w should
	// be buffered.
	Write func(w io.Writer, t *trace.Trace, o Options) error
}

// Options say what of a trace to write. The zero value is the peak.
type Options struct {
	At analysis.Moment
	// AtAnswer shows, in a format with findings, each device at the moment of its
	// first problem, or at its peak, instead of At.
	AtAnswer bool
	// AllFrames keeps the frames of the interpreter, the dispatcher and the
	// allocator in stacks.
	AllFrames bool
	// Indexes are the indexes of the trace's devices, in their order, as Index makes
	// them. If nil, Write makes them.
	Indexes []*analysis.Index
	// Report has the findings, also those of replays, which its maker may have asked
	// for. If nil, Write makes it, without replays.
	Report *report.Report
}

// Formats returns the formats of this package, by name. Text and JSON formats
// make their output printable.
func Formats() []Format {
	return []Format{
		{
			Name: "csv", About: "every event, one row each, with its stack",
			Extensions: []string{".csv"}, Stacks: true, Write: asText(writeCSV),
		},
		{
			Name: "folded", About: "stacks for flame graph tools",
			Extensions: []string{".folded", ".collapsed"}, Moment: true, Stacks: true, Write: asText(writeFolded),
		},
		{
			Name: "html", About: "one page: what went wrong, timeline, stacks",
			Extensions: []string{".html", ".htm"}, Moment: true, Stacks: true, Findings: true, Write: asText(writeHTML),
		},
		{
			Name: "json", About: "the report",
			Extensions: []string{".json"}, Findings: true, Write: asJSON(writeJSON),
		},
		{
			Name: "perfetto", About: "levels over time, for ui.perfetto.dev",
			Extensions: []string{".perfetto.json", ".trace.json", ".perfetto"}, Write: asJSON(writePerfetto),
		},
		{
			Name: "pprof", About: "a profile for go tool pprof",
			Extensions: []string{".pb.gz", ".pprof"}, Moment: true, Stacks: true, Write: writePprof,
		},
	}
}

type writeFunc = func(w io.Writer, t *trace.Trace, o Options) error

func asText(write writeFunc) writeFunc {
	return func(w io.Writer, t *trace.Trace, o Options) error { return write(trace.PrintableText(w), t, o) }
}

func asJSON(write writeFunc) writeFunc {
	return func(w io.Writer, t *trace.Trace, o Options) error { return write(trace.PrintableJSON(w), t, o) }
}

// ForPath returns the format of the path's extension. If several extensions
// match, the longest one counts.
func ForPath(path string, formats []Format) (Format, bool) {
	var found Format
	longest := 0
	lower := strings.ToLower(path)
	for _, f := range formats {
		for _, extension := range f.Extensions {
			if len(extension) > longest && strings.HasSuffix(lower, extension) {
				found, longest = f, len(extension)
			}
		}
	}
	return found, longest > 0
}

// Index makes the index of every device.
func (o *Options) Index(t *trace.Trace) { o.Indexes = analysis.Indexes(t) }

// indexes returns the index of every device.
func (o *Options) indexes(t *trace.Trace) []*analysis.Index {
	if o.Indexes == nil {
		o.Index(t)
	}
	return o.Indexes
}

// report returns the report on the trace.
func (o *Options) report(t *trace.Trace) *report.Report {
	if o.Report == nil {
		o.Report = report.Of(t, o.indexes(t))
	}
	return o.Report
}
