package cmd_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	commands := proofCommand.FindAllStringSubmatch(string(page), -1)
	if len(commands) < 50 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	listed := make(map[string]string)
	for _, command := range commands {
		pattern := proofPattern.FindStringSubmatch(command[1])
		if pattern == nil {
			continue
		}
		names := testsIn(t, listed, proofPackage.FindAllString(command[1], -1))
		for alternative := range strings.SplitSeq(strings.ReplaceAll(pattern[1], `\|`, "|"), "|") {
			name, _, _ := strings.Cut(alternative, "/")
			if !regexp.MustCompile("(?m)" + name).MatchString(names) {
				t.Errorf("no test is called %s in %s", name, command[1])
			}
		}
	}
}

// testsIn returns the names of the tests in some packages.
func testsIn(t *testing.T, listed map[string]string, packages []string) string {
	t.Helper()
	var all strings.Builder
	for _, p := range packages {
		if _, ok := listed[p]; !ok {
			listed[p] = namesIn(t, p)
		}
		all.WriteString(listed[p])
	}
	return all.String()
}

var declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)`)

func namesIn(t *testing.T, pattern string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-f",
		`{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, pattern)
	list.Dir = ".."
	files, err := list.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pattern, err)
	}
	var all strings.Builder
	for path := range strings.FieldsSeq(string(files)) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declaredTest.FindAllStringSubmatch(string(text), -1) {
			all.WriteString(name[1] + "\n")
		}
	}
	return all.String()
}
