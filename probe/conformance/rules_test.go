package conformance

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestEveryRuleOfThePageIsHere compares the labels of docs/protocol.md with the rules
// that are checked, and those that cannot be.
func TestEveryRuleOfThePageIsHere(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocol.md")
	fatal.If(t, err)
	labels := make(map[string]bool)
	for _, m := range regexp.MustCompile(`\*\*([A-Z][0-9]+)\*\*`).FindAllSubmatch(page, -1) {
		labels[string(m[1])] = true
	}
	checked := make(map[string]bool)
	for _, r := range rules {
		for label := range strings.FieldsSeq(r.Labels) {
			checked[label] = true
			if !labels[label] {
				t.Errorf("%s has the label %s, which the page has not", r.Name, label)
			}
		}
	}
	for label := range labels {
		_, unable := unseeable[label]
		if checked[label] == unable {
			t.Errorf("%s of the page: checked is %v, and cannot be seen is %v", label, checked[label], unable)
		}
	}
	for label := range unseeable {
		if !labels[label] {
			t.Errorf("%s cannot be seen, and is not on the page", label)
		}
	}
}
