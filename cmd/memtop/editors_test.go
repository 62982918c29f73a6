package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestAnEditorFindsTheLines gives what memtop check prints to the matcher of
// docs/editors.md.
func TestAnEditorFindsTheLines(t *testing.T) {
	page, err := os.ReadFile("../../docs/editors.md")
	fatal.If(t, err)
	_, block, _ := strings.Cut(string(page), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	var file struct {
		Tasks []struct {
			Command        string
			ProblemMatcher json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(block), &file); err != nil || len(file.Tasks) != 2 {
		t.Fatalf("%v in\n%s", err, block)
	}
	for _, task := range file.Tasks {
		for command := range strings.SplitSeq(task.Command, " && ") {
			if err := parses(command); strings.HasPrefix(command, "memtop ") && err != nil {
				t.Errorf("%s: %v", command, err)
			}
		}
	}
	var matcher struct{ Pattern struct{ Regexp string } }
	fatal.If(t, json.Unmarshal(file.Tasks[0].ProblemMatcher, &matcher))
	out, err := exec.CommandContext(t.Context(), "memtop", "check", "testdata/tiny_training.pickle", "--max-peak", "100MiB").Output()
	if err == nil {
		t.Fatal("no limit is broken")
	}
	var found [][]string
	for _, match := range regexp.MustCompile("(?m)"+matcher.Pattern.Regexp).FindAllStringSubmatch(string(out), -1) {
		found = append(found, match[1:])
	}
	for _, want := range [][]string{
		{"/home/user/train.py", "61", "train_step"}, {"/usr/lib/python3.12/site-packages/torch/optim/adamw.py", "175", "_init_group"},
	} {
		if !slices.ContainsFunc(found, func(line []string) bool { return slices.Equal(line, want) }) {
			t.Errorf("%q is not among %q of\n%s", want, found, out)
		}
	}
}
