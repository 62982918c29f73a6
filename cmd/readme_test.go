package cmd_test

import (
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/command"
)

func TestTheReadmeHasTheExitCodes(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(text string) string { return strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ") }
	want := words("Exit codes: " + strings.ReplaceAll(command.ExitCodes(), "\n", " · ") + ". ")
	if !strings.Contains(words(string(readme)), want) {
		t.Errorf("README.md does not say %q", want)
	}
}
