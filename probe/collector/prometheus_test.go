package collector

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
)

// examples is where the rules and the dashboard are that users take.
const examples = "../../docs/prometheus"

// promtool runs it in a folder and returns what it says.
func promtool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool, which comes with Prometheus, is not installed")
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.Dir = dir
	said, err := c.CombinedOutput()
	return string(said), err
}

func TestTheRulesPassTheirTests(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}, {"check", "config", "prometheus.yml"}} {
		if said, err := promtool(t, examples, args...); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text := fatal.Read(t, filepath.Join(examples, name))
	return string(text)
}

// TestRulesAndDashboardAskForWhatIsServed holds their names against the families.
func TestRulesAndDashboardAskForWhatIsServed(t *testing.T) {
	served := make(map[string]bool)
	for _, f := range append(New(nil).families(nil), protocol.Metrics(nil)...) {
		if f.Kind == exposition.Counter {
			f.Name += "_total"
		}
		served[f.Name] = true
	}
	rules := read(t, "rules.yml")
	for _, record := range regexp.MustCompile(`record: (memtop:\w+)`).FindAllStringSubmatch(rules, -1) {
		served[record[1]] = true
	}
	names := regexp.MustCompile(`\bmemtop[_:]\w+`).FindAllString(rules+strings.Join(expressions(t), "\n"), -1)
	if len(names) < 20 {
		t.Errorf("only %d names are found", len(names))
	}
	for _, name := range names {
		if !served[name] {
			t.Errorf("%s is served by nothing", name)
		}
	}
}

// TestThePageHasAllMetrics compares the families that are served with the page's.
func TestThePageHasAllMetrics(t *testing.T) {
	page := read(t, "README.md")
	for _, f := range New(nil).families(nil) {
		if !strings.Contains(page, "`"+f.Name) {
			t.Errorf("the page does not have %s", f.Name)
		}
	}
}

// expressions returns all queries of the dashboard.
func expressions(t *testing.T) []string {
	t.Helper()
	type query struct{ Expr string }
	var dashboard struct {
		Panels      []struct{ Targets []query }
		Annotations struct{ List []query }
	}
	fatal.If(t, json.Unmarshal([]byte(read(t, "dashboard.json")), &dashboard))
	var all []string
	for _, q := range dashboard.Annotations.List {
		all = append(all, q.Expr)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Error("a panel has no query")
		}
		for _, q := range p.Targets {
			all = append(all, q.Expr)
		}
	}
	return all
}

func TestPrometheusParsesTheDashboardsQueries(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, expr := range expressions(t) {
		quoted, err := json.Marshal(expr)
		fatal.If(t, err)
		fmt.Fprintf(&rules, "  - {record: q%d, expr: %s}\n", i, quoted)
	}
	dir := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "queries.yml"), []byte(rules.String()), 0o600))
	if said, err := promtool(t, dir, "check", "rules", "queries.yml"); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
