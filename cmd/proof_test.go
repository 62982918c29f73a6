package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// A command of docs/proof.md that runs tests: the words after -run, and the rest
// of the line, which has the packages.
var (
	proofCommand = regexp.MustCompile("`go test ([^`]*)`")
	proofPattern = regexp.MustCompile(`-run '?([^' ]+)'?`)
	proofPackage = regexp.MustCompile(`\./[\w./]+`)
)

// TestTheProofNamesTestsThatExist looks for each alternative of each -run in the
// packages that the command names: a test that was renamed or moved would leave a
// promise that runs nothing and passes.
func TestTheProofNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../docs/proof.md")
	fatal.If(t, err)
	commands := proofCommand.FindAllStringSubmatch(string(page), -1)
	if len(commands) < 50 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	declared := testsByPackage(t)
	for _, command := range commands {
		pattern := proofPattern.FindStringSubmatch(command[1])
		if pattern == nil {
			continue
		}
		names := testsIn(declared, proofPackage.FindAllString(command[1], -1))
		for alternative := range strings.SplitSeq(strings.ReplaceAll(pattern[1], `\|`, "|"), "|") {
			name, _, _ := strings.Cut(alternative, "/")
			if !regexp.MustCompile("(?m)" + name).MatchString(names) {
				t.Errorf("no test is called %s in %s", name, command[1])
			}
		}
	}
}

// testsIn returns the names of the tests in the packages that some patterns name,
// a line each.
func testsIn(declared map[string]string, patterns []string) string {
	var all strings.Builder
	for name, tests := range declared {
		if slices.ContainsFunc(patterns, func(pattern string) bool { return matches(module+pattern[1:], name) }) {
			all.WriteString(tests)
		}
	}
	return all.String()
}

var declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)`)

// testsByPackage returns the names of the tests of every package of the module.
func testsByPackage(t *testing.T) map[string]string {
	t.Helper()
	declared := make(map[string]string)
	for _, p := range listPackages(t, module+"/...") {
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			fatal.If(t, err)
			for _, name := range declaredTest.FindAllStringSubmatch(string(text), -1) {
				declared[p.ImportPath] += name[1] + "\n"
			}
		}
	}
	return declared
}
