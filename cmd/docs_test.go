package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// pages returns the project's pages of documentation by name, from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, name := range tracked(t) {
		if path.Ext(name) == ".md" {
			found[name] = text(t, name)
		}
	}
	return found
}

func text(t *testing.T, name string) string {
	t.Helper()
	content := fatal.Read(t, filepath.Join("..", name))
	return string(content)
}

// tracked returns the names of the project's files that are there, from the root.
func tracked(t *testing.T) []string {
	t.Helper()
	listed, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("git does not list the project's files: %v", err)
	}
	names := strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00")
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join("..", name))
		return err != nil
	})
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksOfPagesLeadToFiles(t *testing.T) {
	for name, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(page, -1) {
			target := path.Join(path.Dir(name), found[1])
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, found[1])
			}
		}
	}
}

// TestTargetsOfPagesExist looks for what pages tell to make in the Makefile.
func TestTargetsOfPagesExist(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(text(t, "Makefile"), -1)
	for name, page := range pages(t) {
		for _, found := range regexp.MustCompile("(?m)(?:`|^)make ([a-z-]+)").FindAllStringSubmatch(page, -1) {
			if !slices.ContainsFunc(targets, func(target []string) bool { return target[1] == found[1] }) {
				t.Errorf("%s says make %s, which the Makefile has not", name, found[1])
			}
		}
	}
}

// TestTheTableOfWhatAChangeTouchesIsTrue holds the table of docs/README.md against
// the tree: the words of each row's example are in the files that it lists and in no other.
func TestTheTableOfWhatAChangeTouchesIsTrue(t *testing.T) {
	_, section, _ := strings.Cut(text(t, "docs/README.md"), "## What a change touches")
	sources := sources(t)
	rows := 0
	for row := range strings.SplitSeq(section, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 6 || !strings.Contains(cells[2], "`") {
			continue
		}
		rows++
		words := spans(cells[2])
		listed := slices.DeleteFunc(spans(cells[3]+cells[4]), func(s string) bool { return !strings.Contains(s, "/") })
		if len(listed) == 0 {
			t.Errorf("%s: no file is listed", strings.TrimSpace(cells[1]))
		}
		for _, problem := range compare(sources, words, listed) {
			t.Errorf("%s: %s", strings.TrimSpace(cells[1]), problem)
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
}

// shared are listed files that every member of a kind changes, without a word of any.
var shared = map[string]bool{"snapshots/export/page.html": true, "tui/screen/palette.go": true, "tui/screen/style.go": true}

// compare says which of the listed files have none of the words, and which others have one.
func compare(sources map[string]string, words, listed []string) (problems []string) {
	has := func(text string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	covered := make(map[string]bool)
	for name, text := range sources {
		if !has(text) {
			continue
		}
		at := slices.IndexFunc(listed, func(l string) bool { return name == l || strings.HasSuffix(l, "/") && strings.HasPrefix(name, l) })
		if at < 0 {
			problems = append(problems, fmt.Sprintf("%s has %q and is not listed", name, words))
			continue
		}
		covered[listed[at]] = true
	}
	for _, l := range listed {
		if _, err := os.Stat(filepath.Join("..", l)); err != nil {
			problems = append(problems, l+" is not there")
		} else if !covered[l] && !strings.HasSuffix(l, "/") && !shared[l] {
			problems = append(problems, fmt.Sprintf("%s has none of %q", l, words))
		}
	}
	return problems
}

var (
	span    = regexp.MustCompile("`([^`]+)`")
	comment = regexp.MustCompile(`(?m)^\s*(//|#).*$|\s//\s.*$`)
	support = regexp.MustCompile(`_test\.|/testdata/|/tests/|test/|/testing/|/bench|^cmd/tools/|^examples/`)
)

func spans(cell string) (list []string) {
	for _, found := range span.FindAllStringSubmatch(cell, -1) {
		list = append(list, found[1])
	}
	return list
}

// sources returns the product's sources by name, without their comments.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, name := range tracked(t) {
		if slices.Contains([]string{".go", ".py", ".cu", ".h", ".c"}, path.Ext(name)) && !support.MatchString(name) {
			found[name] = comment.ReplaceAllString(text(t, name), "")
		}
	}
	return found
}

// TestCategoriesAreTheSameEverywhere holds the lists of categories that no program can
// share against the one of package trace.
func TestCategoriesAreTheSameEverywhere(t *testing.T) {
	var names []string
	for _, c := range trace.Categories {
		names = append(names, c.String())
		if c.Purpose() == "" {
			t.Errorf("%v has no purpose", c)
		}
	}
	_, section, _ := strings.Cut(text(t, "docs/answers.md"), "\n| category |")
	section, _, _ = strings.Cut(section, "\n\n")
	for _, name := range names {
		if !strings.Contains(section, "\n| "+name+" |") {
			t.Errorf("docs/answers.md does not say what %s holds", name)
		}
		if !strings.Contains(text(t, "docs/protocol.md"), "`"+name+"`") {
			t.Errorf("docs/protocol.md does not name %s", name)
		}
	}
	colours := regexp.MustCompile(`\.c\d+ \{ fill: `).FindAllString(text(t, "snapshots/export/page.html"), -1)
	if want := len(names) + 1; len(colours) != want { // one is for memory that is older than the recording
		t.Errorf("snapshots/export/page.html has %d colours, want %d: one for each place of trace.Categories and one more", len(colours), want)
	}
	agents := regexp.MustCompile(`STRONGEST_FIRST = \(([^)]*), OTHER,?\s*\)`).FindStringSubmatch(text(t, "probe/python/memtop/memory/registry.py"))
	if agents == nil {
		t.Fatal("the agent's registry has no list of categories")
	}
	for name := range strings.SplitSeq(agents[1], ",") {
		if !slices.Contains(names, strings.Trim(name, "\" \n")) {
			t.Errorf("the agent has a category %s that traces have not", name)
		}
	}
}

func TestTheReferenceHasTheExitCodes(t *testing.T) {
	reference := text(t, "docs/commands.md")
	words := func(text string) string { return strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ") }
	want := words("Exit codes: " + strings.ReplaceAll(command.ExitCodes(), "\n", " · ") + ". ")
	if !strings.Contains(words(reference), want) {
		t.Errorf("docs/commands.md does not say %q", want)
	}
}

var (
	madeByWorkflow  = regexp.MustCompile(`\bmake ([a-z]+(?:-[a-z]+)*)`)
	scriptOfProject = regexp.MustCompile(`(?:^|[ "]|PATH/)((?:\.github|\.ci|cmd)/[\w./-]+)`)
)

// TestWorkflowsRunWhatExists looks for the targets and the scripts that the workflows,
// the action and the Makefile run: nothing else tells before a tag is pushed.
func TestWorkflowsRunWhatExists(t *testing.T) {
	targets := make(map[string]bool)
	for _, found := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(text(t, "Makefile"), -1) {
		targets[found[1]] = true
	}
	count := 0
	for _, name := range tracked(t) {
		workflow := strings.HasPrefix(name, ".github/workflows/") || name == "action.yml"
		if !workflow && name != "Makefile" && !(strings.HasPrefix(name, "cmd/tools/release/") && filepath.Ext(name) == ".sh") {
			continue
		}
		for line := range strings.Lines(text(t, name)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
				continue
			}
			for _, made := range madeByWorkflow.FindAllStringSubmatch(line, -1) {
				if count++; workflow && !targets[made[1]] {
					t.Errorf("%s runs make %s, and there is no such target", name, made[1])
				}
			}
			for _, script := range scriptOfProject.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join("..", script[1])); err != nil {
					t.Errorf("%s names %s, which is not there", name, script[1])
				}
			}
		}
	}
	if count < 5 {
		t.Errorf("only %d targets were found", count)
	}
}

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
	page := fatal.Read(t, "../docs/proof.md")
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
			text := fatal.Read(t, filepath.Join(p.Dir, file))
			for _, name := range declaredTest.FindAllStringSubmatch(string(text), -1) {
				declared[p.ImportPath] += name[1] + "\n"
			}
		}
	}
	return declared
}
