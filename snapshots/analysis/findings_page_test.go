package analysis_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
)

var updateFindings = flag.Bool("update-findings", false, "rewrite docs/findings.md")

// findingsPage is docs/findings.md, made of the kinds' own texts.
func findingsPage() string {
	var b strings.Builder
	b.WriteString(`# Findings

What the Overview, ` + "`memtop report`" + ` and its JSON say of a trace: five at most, first what went wrong and what makes numbers doubtful, then what would
save the most. Every finding names the line it is about; ` + "`confidence`" + ` is certain for what was counted and exact, probable for what was counted by
category, possible for what was estimated. This page is made of the texts in ` + "`snapshots/analysis/finding.go`, `snapshots/analysis/savings` and `snapshots/analysis/ranks`" + `:
` + "`go test ./snapshots/analysis -run FindingsPage -update-findings`" + `.

| kind | speaks when | is silent when | saving |
|---|---|---|---|
`)
	writeKinds(&b, analysis.FindingKinds())
	b.WriteString(`
## Across ranks

What ` + "`memtop attach --all-ranks`, the page Ranks, and `report`" + ` of several files say of the ranks of one job beside each other: nothing where they are alike. Each
finding names its ranks, the one to look at first. The median of two is the lower one.

| kind | speaks when | is silent when | saving |
|---|---|---|---|
`)
	writeKinds(&b, ranks.FindingKinds())
	return b.String()
}

func writeKinds(b *strings.Builder, kinds []*analysis.FindingKind) {
	for _, k := range kinds {
		b.WriteString("| `" + k.Name + "` | " + k.Speaks + " | " + k.Silent + " | " + k.Saving + " |\n")
	}
}

func TestFindingsPageIsWhatTheKindsSay(t *testing.T) {
	const path = "../../docs/findings.md"
	if *updateFindings {
		if err := os.WriteFile(path, []byte(findingsPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != findingsPage() {
		t.Error("docs/findings.md is not what the kinds say; run go test ./snapshots/analysis -run FindingsPage -update-findings")
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
