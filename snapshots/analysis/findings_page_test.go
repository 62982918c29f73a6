package analysis_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

var (
	kindInCode = regexp.MustCompile(`\bName: +"(\w+)"`)
	kindOnPage = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]")
)

// TestThePageExplainsEveryKind compares the kinds of findings with the tables in
// docs/answers.md that say when each speaks.
func TestThePageExplainsEveryKind(t *testing.T) {
	var code []string
	for _, path := range []string{"finding.go", "savings/kinds.go", "ranks/finding.go"} {
		code = append(code, namesIn(t, path, kindInCode)...)
	}
	page, err := os.ReadFile("../../docs/answers.md")
	fatal.If(t, err)
	_, rest, begins := strings.Cut(string(page), "\n## Findings\n")
	tables, _, _ := strings.Cut(rest, "\n## ")
	if !begins {
		t.Fatal("docs/answers.md has no findings")
	}
	explained := found(kindOnPage, tables)
	slices.Sort(code)
	slices.Sort(explained)
	equal.Values(t, "kinds in the code and on the page", code, explained)
}

func namesIn(t *testing.T, path string, pattern *regexp.Regexp) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	fatal.If(t, err)
	return found(pattern, string(text))
}

func found(pattern *regexp.Regexp, text string) (names []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}
