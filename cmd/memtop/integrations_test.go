package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
		"a file that is none": {[]string{"main_test.go"}, 7, []string{"could not be judged", "main_test.go"}, "broke it"},
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

// TestAnEditorFindsTheLines gives what memtop check prints to the matcher of
// docs/editors.md.
func TestAnEditorFindsTheLines(t *testing.T) {
	page := fatal.Read(t, "../../docs/editors.md")
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

// TestAnAssistantIsAnswered has a client of the protocol ask the real program about a
// file, as an assistant would in the night after a job died.
func TestAnAssistantIsAnswered(t *testing.T) {
	folder, err := filepath.Abs("testdata")
	fatal.If(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command("memtop", "mcp", folder)}, nil)
	fatal.If(t, err)
	defer func() { _ = session.Close() }()
	file := map[string]any{"file": "tiny_training.pickle"}
	for question, test := range map[string]struct {
		arguments map[string]any
		want      string
	}{
		"files":  {nil, "tiny_training.pickle, "},
		"report": {file, "Out of memory"},
		"lines":  {map[string]any{"file": "tiny_training.pickle", "by": "line"}, "train.py"},
		"advise": {file, "an 8-bit optimizer"},
		"diff":   {map[string]any{"before": "tiny_training.pickle", "after": "tiny_training.pickle", "at": "peak"}, "No difference"},
		"replay": {map[string]any{"file": "tiny_training.pickle", "alloc_conf": []string{"expandable_segments:True"}}, "expandable_segments:True"},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: question, Arguments: test.arguments})
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		if text := result.Content[0].(*mcp.TextContent).Text; result.IsError || !strings.Contains(text, test.want) {
			t.Errorf("%s: error %v, and no %q in\n%s", question, result.IsError, test.want, text)
		}
	}
}
