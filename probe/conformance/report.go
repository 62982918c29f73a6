package conformance

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// Report is the result of an examination. Its texts are printable.
type Report struct {
	Schema  string   `json:"schema"`
	PID     int      `json:"pid"`
	Socket  string   `json:"socket"`
	Command string   `json:"command"`
	Writer  string   `json:"writer"`
	Passed  int      `json:"passed"`
	Broken  int      `json:"broken"`
	NotSeen int      `json:"not_seen"`
	Rules   []Result `json:"rules"`
}

// Result is the outcome of one rule, with its findings.
type Result struct {
	Rule
	Outcome  Outcome   `json:"outcome"`
	Why      string    `json:"why,omitempty"` // why it was not seen
	Findings []Finding `json:"findings,omitempty"`
	Count    int       `json:"count,omitempty"` // of all findings
}

// schema names the form of a report's JSON.
const schema = "memtop.conformance/1"

func (e *examination) report() *Report {
	r := &Report{
		Schema: schema, PID: e.viewer.place.PID(), Socket: trace.Printable(e.viewer.place.Socket()),
		Command: trace.Printable(e.info.Command), Writer: trace.Printable(e.info.Writer),
	}
	for i := range rules {
		m := e.marks[rules[i].Name]
		result := Result{Rule: rules[i], Outcome: m.outcome, Findings: m.findings, Count: m.count}
		switch m.outcome {
		case Passed:
			r.Passed++
		case Broken:
			r.Broken++
		case NotSeen:
			r.NotSeen++
			result.Why = trace.Printable(cmp.Or(m.why, "nothing of it was seen"))
		}
		r.Rules = append(r.Rules, result)
	}
	return r
}

// Text prints a line for each group of rules, the rules not seen, and all broken
// rules in full, within a width in cells.
func (r *Report) Text(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "process %d: %s\n\n", r.PID, trace.Shorten(r.Command, width-20))
	for _, g := range r.groups() {
		fmt.Fprintf(&b, "%-11s %s\n", g.name, g.counts())
	}
	r.notSeen(&b, width)
	for i := range r.Rules {
		if r.Rules[i].Outcome == Broken {
			b.WriteByte('\n')
			r.Rules[i].broken(&b, width)
		}
	}
	fmt.Fprintf(&b, "\n%d rules passed, %d broken, %d not seen; docs/protocol.md has them\n", r.Passed, r.Broken, r.NotSeen)
	_, err := io.WriteString(w, b.String())
	return err
}

// group counts the outcomes of the rules about one subject.
type group struct {
	name  string
	count [len(outcomeNames)]int
}

func (r *Report) groups() []group {
	var all []group
	for i := range r.Rules {
		if name := r.Rules[i].Group(); len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, group{name: name})
		}
		all[len(all)-1].count[r.Rules[i].Outcome]++
	}
	return all
}

func (g *group) counts() string {
	var text strings.Builder
	for _, o := range []Outcome{Passed, Broken, NotSeen} {
		if n := g.count[o]; n > 0 {
			fmt.Fprintf(&text, "  %2d %-8v", n, o)
		}
	}
	return strings.TrimRight(text.String(), " ")
}

func (r *Report) notSeen(b *strings.Builder, width int) {
	title := "\nnot seen\n"
	for i := range r.Rules {
		if r.Rules[i].Outcome == NotSeen {
			b.WriteString(title)
			title = ""
			paragraph(b, "  "+r.Rules[i].Name+": ", r.Rules[i].Why, width)
		}
	}
}

func (r *Result) broken(b *strings.Builder, width int) {
	paragraph(b, "broken: ", r.Name+": "+r.Text+" ("+r.Labels+")", width)
	for _, f := range r.Findings {
		paragraph(b, "  wanted  ", f.Want, width)
		paragraph(b, "  seen    ", f.Seen, width)
	}
	if more := r.Count - len(r.Findings); more > 0 {
		fmt.Fprintf(b, "  and %d times more\n", more)
	}
}

// paragraph writes words after a lead. Later lines are indented by the length of
// the lead.
func paragraph(b *strings.Builder, lead, text string, width int) {
	const leadMost = 10
	b.WriteString(lead)
	at, inner := len(lead), min(len(lead), leadMost)
	for i, word := range strings.Fields(text) {
		for ; at+len(word)+1 > width && len(word) > width-inner; at = inner { // a word longer than a line
			cut := max(1, width-at-1)
			b.WriteString(word[:cut] + "\n" + strings.Repeat(" ", inner))
			word = word[cut:]
		}
		switch {
		case i > 0 && at+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", inner))
			at = inner
		case i > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	b.WriteByte('\n')
}
