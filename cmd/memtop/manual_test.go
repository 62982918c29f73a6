package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writtenManual writes manual and completions and returns the folder.
func writtenManual(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "manual")
	if err := writeManual(newApp(io.Discard, io.Discard).root(), folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestTheManualHasEveryCommandAndFlag looks for what the command line has in the
// pages, each flag in bold in the page of its command.
func TestTheManualHasEveryCommandAndFlag(t *testing.T) {
	folder := writtenManual(t)
	root := newApp(io.Discard, io.Discard).root()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	flags := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		text, err := os.ReadFile(filepath.Join(folder, "man1", strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags++
			if want := `\fB\-\-` + strings.ReplaceAll(f.Name, "-", `\-`) + `\fR`; !f.Hidden && !strings.Contains(string(text), want) {
				t.Errorf("the page of %s does not have --%s", c.CommandPath(), f.Name)
			}
		})
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				look(below)
			}
		}
	}
	look(root)
	if flags < 100 {
		t.Errorf("only %d flags were looked for", flags)
	}
}

// TestManRendersTheManual has man, or what it is made of, read every page.
func TestManRendersTheManual(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(writtenManual(t), "man1", "*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	rendered := ""
	for _, reader := range [][]string{{"mandoc", "-T", "lint", "-W", "warning"}, {"groff", "-man", "-ww", "-z", "-T", "utf8"}} {
		if _, err := exec.LookPath(reader[0]); err != nil {
			continue
		}
		rendered = reader[0]
		for _, page := range pages {
			// A page has no date on purpose: it would differ with every build.
			told, _ := exec.CommandContext(t.Context(), reader[0], append(reader[1:len(reader):len(reader)], page)...).CombinedOutput()
			for warning := range strings.Lines(string(told)) {
				if !strings.Contains(warning, "missing date") {
					t.Errorf("%s of %s: %s", reader[0], filepath.Base(page), warning)
				}
			}
		}
	}
	if rendered == "" {
		t.Skip("neither mandoc nor groff is here")
	}
}

// TestShellsReadTheCompletions has each shell that is here read its file.
func TestShellsReadTheCompletions(t *testing.T) {
	folder := filepath.Join(writtenManual(t), "completions")
	for shell, file := range map[string]string{"bash": "memtop", "zsh": "_memtop", "fish": "memtop.fish"} {
		t.Run(shell, func(t *testing.T) {
			if info, err := os.Stat(filepath.Join(folder, file)); err != nil || info.Size() == 0 {
				t.Fatalf("%v, %v", info, err)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(shell + " is not here")
			}
			if told, err := exec.CommandContext(t.Context(), shell, "-n", filepath.Join(folder, file)).CombinedOutput(); err != nil || len(told) > 0 {
				t.Errorf("%v: %s", err, told)
			}
		})
	}
}
