package report

import "memtop/snapshots/analysis"

// Finding is something that is wrong, or worth knowing.
type Finding struct {
	Kind       string   `json:"kind"`
	Severity   string   `json:"severity"` // problem, warning or info
	Bytes      int64    `json:"bytes"`    // that it is about, 0 where it is about none
	Evidence   string   `json:"evidence"`
	Remedy     string   `json:"remedy"` // what helps, "" where nothing is known to
	Confidence string   `json:"confidence"`
	Event      *int     `json:"event"`  // to look at, −1 before the first, null for none
	Frames     []string `json:"frames"` // of the stack to look at, innermost first
}

// findings returns what analysis finds on a device, the most severe first.
func findings(x *analysis.Index) []Finding {
	found := x.Findings()
	all := make([]Finding, len(found))
	for i := range found {
		f := &found[i]
		all[i] = Finding{
			Kind: f.Kind.String(), Severity: f.Severity.String(), Bytes: f.Bytes, Evidence: f.Evidence, Remedy: f.Remedy,
			Confidence: f.Confidence.String(), Frames: x.Frames(f.Where.Stack),
		}
		if event := f.Where.Event; event != analysis.NoEvent {
			all[i].Event = &event
		}
	}
	return all
}

// findingLines writes the findings for people.
func findingLines(p *page, x *analysis.Index) {
	for _, f := range x.Findings() {
		p.wrap([...]string{analysis.Info: "  - ", analysis.Warning: "  ! ", analysis.Problem: "  X "}[f.Severity], f.Text())
	}
}
