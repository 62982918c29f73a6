package analysis

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var updateFindings = flag.Bool("update-findings", false, "rewrite docs/findings.md")

// findingsPage is docs/findings.md, made of the kinds' own texts.
func findingsPage() string {
	var b strings.Builder
	b.WriteString(`# Findings

What the Overview, ` + "`memtop report`" + ` and its JSON say of a trace: five at most, first what went wrong and what makes numbers doubtful, then what would
save the most. Every finding names the line it is about; ` + "`confidence`" + ` is certain for what was counted and exact, probable for what was counted by
category, possible for what was estimated. This page is made of the texts in ` + "`snapshots/analysis/finding.go`" + ` and ` + "`snapshots/analysis/advice`" + `:
` + "`go test ./snapshots/analysis -run FindingsPage -update-findings`" + `.

| kind | speaks when | is silent when | saving |
|---|---|---|---|
`)
	for _, k := range FindingKinds() {
		b.WriteString("| `" + k.Name + "` | " + k.Speaks + " | " + k.Silent + " | " + k.Saving + " |\n")
	}
	return b.String()
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
	for _, k := range FindingKinds() {
		if k == nil || k.Name == "" || k.Speaks == "" || names[k.Name] {
			t.Errorf("%+v has no name of its own or says not when it speaks", k)
			continue
		}
		names[k.Name] = true
	}
}
