package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestTheCommentOfAPullRequest runs the steps of the action in action.yml.
func TestTheCommentOfAPullRequest(t *testing.T) {
	const file = "testdata/tiny_training.pickle"
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
		not  string
	}{
		"within the limits":   {[]string{file, "--", "--max-peak", "1GiB"}, 0, []string{"### memtop: the memory is within the limits", "<summary>Report<"}, "broke it"},
		"beyond a limit":      {[]string{file, "--", "--max-peak", "100MiB"}, 10, []string{"breaks a limit", "What broke it", "train.py:61 train_step"}, "base branch"},
		"beside the base":     {[]string{file, file}, 0, []string{"Compared with the base branch, at the peak", "No difference."}, "broke it"},
		"a file that is none": {[]string{"mcp_test.go"}, 7, []string{"could not be judged", "mcp_test.go"}, "broke it"},
		"a missing file":      {[]string{"nothing.pickle", "--", "--max-peak", "1GiB"}, 3, []string{"could not be judged"}, "broke it"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command("../../.github/action/comment.sh", test.args...).Output()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Skip(err)
			}
			if code != test.code || strings.Contains(string(out), test.not) || strings.Count(string(out), "```")%2 != 0 {
				t.Errorf("code %d, and\n%s", code, out)
			}
			for _, want := range test.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

// TestTheActionKeepsCommentAndPage runs the step that judges as GitHub does.
func TestTheActionKeepsCommentAndPage(t *testing.T) {
	folder := t.TempDir()
	root, err := filepath.Abs("../..")
	fatal.If(t, err)
	for name, test := range map[string]struct{ snapshot, code, comment, page string }{
		"a limit that is broken": {filepath.Join(root, "cmd/memtop/testdata/tiny_training.pickle"), "code=10", "breaks a limit", "Out of memory at event 745"},
		"no snapshot":            {"nothing.pickle", "code=3", "could not be judged", ""},
	} {
		t.Run(name, func(t *testing.T) {
			there := func(file string) string { return filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+file) }
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".github/action/judge.sh"))
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+root, "RUNNER_TEMP="+there(""), "GITHUB_OUTPUT="+there("output"),
				"GITHUB_STEP_SUMMARY="+there("summary"), "SNAPSHOT="+test.snapshot, "LIMITS=--max-peak 100MiB", "PAGE="+there(".html"))
			if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState == nil {
				t.Skip(err)
			} else if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for file, want := range map[string]string{there("output"): test.code, there("summary"): test.comment, there(".html"): test.page} {
				text, err := os.ReadFile(file)
				if err != nil && want != "" || !strings.Contains(string(text), want) {
					t.Errorf("%s: %v, and no %q in %.300s", filepath.Base(file), err, want, text)
				}
			}
		})
	}
}
