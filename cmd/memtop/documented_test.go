package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented matches a command of memtop within a line of prose.
var documented = regexp.MustCompile("`(memtop [^`]*)`")

// commandsOf returns the commands of memtop on a page: between backquotes, and the
// lines of blocks of code.
func commandsOf(page string) (found []string) {
	code := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code && strings.HasPrefix(line, "memtop "):
			found = append(found, line)
		case !code:
			for _, match := range documented.FindAllStringSubmatch(line, -1) {
				found = append(found, match[1])
			}
		}
	}
	return found
}

// TestCommandsOfTheDocumentationExist gives each command of the pages to the command
// line's parser: the command must be there, with its flags and as many arguments.
func TestCommandsOfTheDocumentationExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	pages = append(pages, "../../docs/assistant/SKILL.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(len(pages), err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commandsOf(string(text)) {
			found++
			if err := parses(command); err != nil {
				t.Errorf("%s: %s: %v", page, command, err)
			}
		}
	}
	if found < 100 {
		t.Errorf("the pages have %d commands", found)
	}
}

// leftOut are the words of pages for what needs no command.
var leftOut = map[string]bool{"FILE": true, "PID": true, "train.py": true}

// parses returns why a documented command is none. A comment follows two spaces and #.
func parses(line string) error {
	line, _, _ = strings.Cut(line, "  #")
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
