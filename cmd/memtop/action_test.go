package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
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
