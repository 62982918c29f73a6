package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Outcome says what was seen of rules: that they were kept or broken, or nothing.
type Outcome string

// The outcomes.
const (
	NotSeen Outcome = "not seen"
	Passed  Outcome = "passed"
	Broken  Outcome = "broken"
)

// Result is what was seen of rules that are seen together. Its texts are printable.
type Result struct {
	Rules   string  `json:"rules"` // their labels in docs/protocol.md
	Text    string  `json:"text"`  // what they want, in a line
	Outcome Outcome `json:"outcome"`
	Seen    string  `json:"seen,omitempty"` // what broke them first
	Count   int     `json:"count,omitempty"`
}

// groups are the rules that a viewer can see, in the order of the page.
var groups = []Result{
	{Rules: "S2 S3", Text: "the socket is <pid>-<start time>.sock, and its user's alone"},
	{Rules: "S1 R1 I1 I2", Text: "/v1/info is one JSON object that describes the process"},
	{Rules: "I4", Text: "what is counted since the begin never shrinks"},
	{Rules: "S6 C1 R7", Text: "what makes no sense is refused, with one line of error"},
	{Rules: "S8", Text: "the process answers after that"},
	{Rules: "R2 F1 F2 F5 F7", Text: "a stream is a header, and frames with their checksums"},
	{Rules: "O1 M3", Text: "hello comes first, once, and says who is talking"},
	{Rules: "O4 M6", Text: "counters end a batch at least every second, and never shrink"},
	{Rules: "O6", Text: "bye comes last, and no stream ends without it"},
	{Rules: "O7", Text: "the first batch has the memory of each device"},
	{Rules: "T1 T2 O2", Text: "a table comes before what refers to it"},
	{Rules: "B1 B2 B3 B4 B5 B6", Text: "a base is in order, and what the events before it led to"},
	{Rules: "O3 E1 E2 E3 E6 A1 A2 A3 A4 A5 A6 A7 N1 N2 N3", Text: "events follow each other, and fit the memory"},
	{Rules: "P1 P2 P3 P5 P6", Text: "parts are one whole snapshot"},
	{Rules: "K1 K2 M5 O5", Text: "steps ascend, come after their events, and have peaks that are peaks"},
	{Rules: "M1 M2 M7 C2", Text: "messages have the fields of the page"},
	{Rules: "R4", Text: "/v1/snapshot is a pickle as PyTorch writes it"},
	{Rules: "R5 R6 C3", Text: "/v1/settings has options and changes"},
}

// Report is the result of an examination. Its texts are printable.
type Report struct {
	Schema  string   `json:"schema"`
	PID     int      `json:"pid"`
	Socket  string   `json:"socket"`
	Command string   `json:"command"`
	Writer  string   `json:"writer"`
	Results []Result `json:"rules"`
}

func newReport(place attach.Place) *Report {
	return &Report{Schema: "memtop.conformance/2", PID: place.PID(), Socket: trace.Printable(place.Socket()), Results: slices.Clone(groups)}
}

func (r *Report) describe(i *protocol.Info) {
	r.Command, r.Writer = trace.Printable(i.Command), trace.Printable(i.Writer)
}

// Broken returns the results of broken rules.
func (r *Report) Broken() []Result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(one Result) bool { return one.Outcome != Broken })
}

// check notes whether the rule with a label was kept, or else what was seen, and
// returns ok.
func (r *Report) check(label string, ok bool, seen string, values ...any) bool {
	at := slices.IndexFunc(r.Results, func(one Result) bool { return slices.Contains(strings.Fields(one.Rules), label) })
	one := &r.Results[at]
	switch {
	case ok && one.Outcome == "":
		one.Outcome = Passed
	case !ok:
		one.Outcome = Broken
		if one.Count++; one.Count == 1 {
			one.Seen = label + ": " + trace.Printable(trace.Shorten(fmt.Sprintf(seen, values...), seenLength))
		}
	}
	return ok
}

// seenLength bounds the text of what was seen, in characters.
const seenLength = 300

// finish names what nothing was seen of.
func (r *Report) finish() *Report {
	for i := range r.Results {
		if r.Results[i].Outcome == "" {
			r.Results[i].Outcome = NotSeen
		}
	}
	return r
}

// Text prints a line for each group of rules, and what broke it, within a width in
// cells.
func (r *Report) Text(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "process %d: %s\n\n", r.PID, trace.Shorten(r.Command, width-20))
	for _, one := range r.Results {
		fmt.Fprintf(&b, "%-8s  %s\n", one.Outcome, trace.Shorten(one.Text, width-10))
		if one.Outcome == Broken {
			fmt.Fprintf(&b, "          %s (%d times)\n", one.Seen, one.Count)
		}
	}
	fmt.Fprintf(&b, "\n%d of %d groups of rules are broken; docs/protocol.md has them\n", len(r.Broken()), len(r.Results))
	_, err := io.WriteString(w, b.String())
	return err
}
