package analysis_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
)

var updateFindings = flag.Bool("update-findings", false, "rewrite the findings in docs/answers.md")

// The lines of docs/answers.md between which the findings stand.
const (
	findingsBegin = "<!-- findings: made by `go test ./snapshots/analysis -run FindingsPage -update-findings` -->\n"
	findingsEnd   = "<!-- end of findings -->\n"
)

// findingsPage is the part of docs/answers.md about findings, made of the kinds' own texts.
func findingsPage() string {
	var b strings.Builder
	b.WriteString(`
## Findings

What the Overview, ` + "`memtop report`" + ` and its JSON say of a trace: at most five findings. First comes what went wrong and what
makes numbers doubtful, then what would save the most. Every finding names the line it is about. ` + "`confidence`" + ` is certain
for what was counted exactly, probable for what was counted by category, possible for what was estimated. A saving of the
program's own memory is by how much the peak drops: memtop takes the blocks away at every moment of the trace and looks for
the new peak. What lowers it by less than 1 % is not said. The texts are in
` + "`snapshots/analysis/finding.go`, `snapshots/analysis/savings` and `snapshots/analysis/ranks`" + `.

| kind | speaks when | is silent when | saving |
|---|---|---|---|
`)
	writeKinds(&b, analysis.FindingKinds())
	b.WriteString(`
### Findings across ranks

What ` + "`memtop attach --all-ranks`" + `, the page Ranks, and ` + "`report`" + ` of several files say of the ranks of one job beside each other.
They say nothing where ranks are alike. Each finding names its ranks, the one to look at first. The median of two is the
lower one.

| kind | speaks when | is silent when | saving |
|---|---|---|---|
`)
	writeKinds(&b, ranks.FindingKinds())
	b.WriteString("\n")
	return b.String()
}

func writeKinds(b *strings.Builder, kinds []*analysis.FindingKind) {
	for _, k := range kinds {
		b.WriteString("| `" + k.Name + "` | " + k.Speaks + " | " + k.Silent + " | " + k.Saving + " |\n")
	}
}

func TestFindingsPageIsWhatTheKindsSay(t *testing.T) {
	const path = "../../docs/answers.md"
	page, err := os.ReadFile(path)
	fatal.If(t, err)
	before, rest, begins := strings.Cut(string(page), findingsBegin)
	findings, after, ends := strings.Cut(rest, findingsEnd)
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no place for the findings", path)
	case *updateFindings:
		fatal.If(t, os.WriteFile(path, []byte(before+findingsBegin+findingsPage()+findingsEnd+after), 0o644))
	case findings != findingsPage():
		t.Errorf("%s does not have what the kinds say; run go test ./snapshots/analysis -run FindingsPage -update-findings", path)
	}
	names := make(map[string]bool)
	for _, k := range slices.Concat(analysis.FindingKinds(), ranks.FindingKinds()) {
		if k == nil || k.Name == "" || k.Speaks == "" || names[k.Name] {
			t.Errorf("%+v has no name of its own or says not when it speaks", k)
			continue
		}
		names[k.Name] = true
	}
}
