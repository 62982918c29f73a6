package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestTheDocsListTheVariablesOfFlags(t *testing.T) {
	text := fatal.Read(t, "../../docs/commands.md")
	listed := regexp.MustCompile(`(?s)\n## Settings\n.*?\n\n.*?\n#`).Find(append(text, "\n#"...))
	var got, want []string
	for _, name := range regexp.MustCompile("`MEMTOP_[A-Z_]+`").FindAll(listed, -1) {
		got = append(got, string(name))
	}
	for _, f := range settableFlags(newApp(io.Discard, io.Discard).root()) {
		want = append(want, "`"+variableOf(f)+"`")
	}
	slices.Sort(want)
	equal.Values(t, "the variables in docs/commands.md", want, got)
}

func TestAConfigurationFilesStringsAreRead(t *testing.T) {
	const open, escape = "log: a string that does not end in a quote",
		"log: a backslash between double quotes begins an escape: write two for one, or use single quotes"
	for line, want := range map[string]struct{ value, problem string }{
		`log = "a b"`:            {value: "a b"},
		`log = "" # none`:        {},
		`log = "a # b"# c "d"`:   {value: "a # b"},
		`log = "say \"a\" \\ b"`: {value: `say "a" \ b`},
		`log = "\t\u00e9"`:       {value: "\té"},
		`log = 'C:\logs\'`:       {value: `C:\logs\`},
		`log = '"'`:              {value: `"`},
		`log = "a`:               {problem: open},
		`log = 'a`:               {problem: open},
		`log = "a" b`:            {problem: open},
		`log = "C:\logs"`:        {problem: escape},
		`log = "C:\"`:            {problem: escape},
	} {
		key, value, err := configLine(line)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if key != "log" || err == nil && value != want.value || problem != want.problem {
			t.Errorf("%s: got %s = %q, %q, want %q, %q", line, key, value, problem, want.value, want.problem)
		}
	}
}

// documented is a command line of a page.
type documented struct{ where, text string }

// spanned matches commands within sentences.
var spanned = regexp.MustCompile("`((?:memtop|memtrain|go run \\./cmd/\\w+) [^`]*)`")

// commandsOf returns the commands of a page: within sentences, and in blocks of code that
// are "sh", a command a line, or "console", where $ precedes a command.
func commandsOf(page, text string) (found []documented) {
	fence, within, number := "", false, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		where := fmt.Sprintf("%s:%d", page, number)
		switch command, typed := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			within, fence = !within, strings.TrimPrefix(line, "```")
		case !within:
			for _, match := range spanned.FindAllStringSubmatch(line, -1) {
				found = append(found, documented{where, match[1]})
			}
		case fence == "sh" || fence == "console" && typed:
			command, _, _ = strings.Cut(command, "  #")
			found = append(found, documented{where, strings.TrimSpace(command)})
		}
	}
	return found
}

// documentation returns the commands of every page that users read.
func documentation(t *testing.T) map[string][]documented {
	t.Helper()
	const root = "../.."
	pages := []string{"README.md", "SECURITY.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, d fs.DirEntry, err error) error {
		if d.Name() == "decisions" {
			return fs.SkipDir // they say what was, when it was decided
		}
		if filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	fatal.If(t, err)
	all := make(map[string][]documented)
	for _, page := range pages {
		text := fatal.Read(t, filepath.Join(root, page))
		all[page] = commandsOf(page, string(text))
	}
	return all
}

// TestCommandsOfTheDocumentationExist gives each command of the pages to the command
// line's parser: the command must be there, with its flags and as many arguments.
func TestCommandsOfTheDocumentationExist(t *testing.T) {
	found := 0
	for _, commands := range documentation(t) {
		for _, c := range commands {
			if !strings.HasPrefix(c.text, "memtop ") {
				continue
			}
			found++
			if err := parses(c.text); err != nil {
				t.Errorf("%s: %s: %v", c.where, c.text, err)
			}
		}
	}
	if found < 100 {
		t.Errorf("the pages have %d commands", found)
	}
}

// TestTheReferenceHasEveryCommand looks for each command of the help in the reference. Each has the flag that a message
// about a bug names.
func TestTheReferenceHasEveryCommand(t *testing.T) {
	page := string(contents(t, "../../docs/commands.md"))
	for _, c := range newApp(io.Discard, io.Discard).root().Commands() {
		if !c.Hidden && !strings.Contains(page, "memtop "+c.Name()) {
			t.Errorf("docs/commands.md does not have memtop %s", c.Name())
		}
		if c.Flags().Lookup("log") == nil {
			t.Errorf("memtop %s has no --log", c.Name())
		}
	}
}

// leftOut are the words of pages for what needs no command.
var leftOut = map[string]bool{"FILE": true, "PID": true, "train.py": true}

// parses returns why a documented command is none.
func parses(line string) error {
	line, _, _ = strings.Cut(line, " | ")
	root := newApp(io.Discard, io.Discard).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	root.InitDefaultCompletionCmd()
	args := strings.Fields(line)[1:]
	found, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err
	case found == root && !strings.HasPrefix(args[0], "-") && !leftOut[args[0]]:
		return unknownCommand(root, args)
	}
	return found.ParseFlags(rest)
}
