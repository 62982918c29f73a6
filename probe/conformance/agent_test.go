package conformance

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// slowly is set where tests may take what the page's times take.
var slowly = os.Getenv("MEMTOP_CONFORMANCE_SLOW") != ""

// TestAnAgentWrittenFromThePagePasses examines a probe in another language, which was
// written with nothing but docs/protocol.md at hand: the page says enough.
func TestAnAgentWrittenFromThePagePasses(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the agent is JavaScript, and there is no node here")
	}
	agent := exec.CommandContext(t.Context(), node, "testdata/agent/agent.mjs")
	folder := shortFolder(t)
	agent.Env, agent.Stderr = append(os.Environ(), "MEMTOP_DIR="+folder), os.Stderr
	input, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	path, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the agent says no socket: %v", err)
	}
	o := Options{For: 500 * time.Millisecond, Quick: !slowly, Change: true, Crowd: slowly}
	r := examined(t, strings.TrimSpace(path), o)
	keeps(t, r)
	if r.Passed < 65 {
		t.Errorf("only %d rules passed", r.Passed)
	}
	_ = input.Close()
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the agent left %v behind, %v", left, err)
	}
}
