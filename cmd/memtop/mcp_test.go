package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

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
