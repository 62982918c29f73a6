package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestTheDocsListTheVariablesOfFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	fatal.If(t, err)
	listed := regexp.MustCompile(`(?s)\n## Settings\n.*?\n\n.*?\n#`).Find(append(text, "\n#"...))
	var got, want []string
	for _, name := range regexp.MustCompile("`MEMTOP_[A-Z_]+`").FindAll(listed, -1) {
		got = append(got, string(name))
	}
	for _, f := range settableFlags(newApp(io.Discard, io.Discard).root()) {
		want = append(want, "`"+variableOf(f)+"`")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the variables in docs/commands.md (-want +got):\n%s", diff)
	}
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

func TestWhatConfigPrintsIsRead(t *testing.T) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.String("log", "", "")
	for _, value := range []string{"", "a", `\`, `"`, `C:\"logs"\`, "'", "#", "a\tb\nc", "é", "\x1b\xff"} {
		line := "log = " + tomlValue(f.Lookup("log"), value)
		if _, got, err := configLine(line); err != nil || got != value {
			t.Errorf("%s: got %q, %v, want %q", line, got, err, value)
		}
	}
}
