package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	madeByWorkflow  = regexp.MustCompile(`\bmake ([a-z]+(?:-[a-z]+)*)`)
	scriptOfProject = regexp.MustCompile(`(?:^|[ "]|PATH/)((?:\.github|\.ci|cmd)/[\w./-]+)`)
)

// TestWorkflowsRunWhatExists looks for the targets and the scripts that the workflows,
// the action and the Makefile run: nothing else tells before a tag is pushed.
func TestWorkflowsRunWhatExists(t *testing.T) {
	targets := make(map[string]bool)
	for _, found := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(text(t, "Makefile"), -1) {
		targets[found[1]] = true
	}
	count := 0
	for _, name := range tracked(t) {
		workflow := strings.HasPrefix(name, ".github/workflows/") || name == "action.yml"
		if !workflow && name != "Makefile" && !(strings.HasPrefix(name, "cmd/tools/release/") && filepath.Ext(name) == ".sh") {
			continue
		}
		for line := range strings.Lines(text(t, name)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
				continue
			}
			for _, made := range madeByWorkflow.FindAllStringSubmatch(line, -1) {
				if count++; workflow && !targets[made[1]] {
					t.Errorf("%s runs make %s, and there is no such target", name, made[1])
				}
			}
			for _, script := range scriptOfProject.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join("..", script[1])); err != nil {
					t.Errorf("%s names %s, which is not there", name, script[1])
				}
			}
		}
	}
	if count < 5 {
		t.Errorf("only %d targets were found", count)
	}
}
