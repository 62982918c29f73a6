package cmd_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/command"
)

func TestTheReferenceHasTheExitCodes(t *testing.T) {
	reference := text(t, "docs/commands.md")
	words := func(text string) string { return strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ") }
	want := words("Exit codes: " + strings.ReplaceAll(command.ExitCodes(), "\n", " · ") + ". ")
	if !strings.Contains(words(reference), want) {
		t.Errorf("docs/commands.md does not say %q", want)
	}
}
