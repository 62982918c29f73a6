package report

import "github.com/memtop/memtop/snapshots/analysis"

// Finding is a problem, or a fact worth knowing.
type Finding struct {
	Kind        string   `json:"kind"`                        // docs/answers.md has all
	Severity    string   `json:"severity"`                    // problem, warning or info
	Bytes       int64    `json:"bytes"`                       // the bytes that it is about, 0 for none
	SavingBytes int64    `json:"saving_bytes"`                // the saving of the remedy, 0 if unknown
	MostBytes   int64    `json:"saving_most_bytes,omitempty"` // what it saves at most, where that is not known exactly
	Confidence  string   `json:"confidence"`
	Text        string   `json:"text"`
	Evidence    string   `json:"evidence"`
	Remedy      string   `json:"remedy"` // the remedy, "" if none is known
	Event       *int     `json:"event"`  // the event to look at, −1 before the first, null for none
	Where       []string `json:"where"`  // "file:line function" of the lines to look at, innermost first
}

// findings writes findings on a device with the places to look at.
func findings(x *analysis.Index, found []analysis.Finding) []Finding {
	all := make([]Finding, len(found))
	for i := range found {
		f := &found[i]
		all[i] = findingOf(f)
		for _, frame := range x.Telling(f.Where.Stack, 3) {
			all[i].Where = append(all[i].Where, x.FrameLabel(frame))
		}
		if event := f.Where.Event; event != analysis.NoEvent {
			all[i].Event = &event
		}
	}
	return all
}

// findingOf writes a finding without the place to look at.
func findingOf(f *analysis.Finding) Finding {
	return Finding{
		Kind: f.Kind.Name, Severity: f.Severity.String(), Bytes: f.Bytes, SavingBytes: f.Saving, MostBytes: f.Most, Confidence: f.Confidence.String(),
		Text: f.Text(), Evidence: f.Evidence, Remedy: f.Remedy, Where: make([]string, 0),
	}
}

// findingLines writes the findings for people.
func findingLines(p *page, found []analysis.Finding) {
	for _, f := range found {
		findingLine(p, &f)
	}
}

func findingLine(p *page, f *analysis.Finding) {
	p.wrap([...]string{analysis.Info: "  - ", analysis.Warning: "  ! ", analysis.Problem: "  X "}[f.Severity], f.Text())
}
