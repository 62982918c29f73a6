package program

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/engine/device/cuda"
)

// TestGraphsChangeNeitherLossesNorMemory trains with graphs and without, and
// compares every loss by its bits and every event of the allocator.
func TestGraphsChangeNeitherLossesNorMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	tests := map[string][]string{
		"fp32": {"--steps", "8"},
		"fp16, checkpointed, in two parts, with dropout": {"--steps", "3", "--amp", "fp16", "--checkpoint", "block", "--accumulate", "2", "--dropout", "0.1"},
		"all on the host, from pinned batches":           {"--steps", "3", "--offload", everything, "--pinned"},
		"embedding, head and loss on the host":           {"--steps", "3", "--host", "wte+wpe+lm_head+loss"},
		"with expandable segments":                       {"--steps", "3", "--alloc-conf", "expandable_segments:True", "--amp", "bf16"},
	}
	tiny := []string{"--layers", "1", "--dim", "16", "--heads", "1", "--seq", "8", "--batch", "2"}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			var steps [2][]stepLine
			var events [2][]memoryEvent
			var launched [2]int
			for i, graphs := range []string{"off", "on"} {
				path := filepath.Join(t.TempDir(), "memory.pickle")
				var driver *cudatest.Driver
				open := gpus(t)
				g := func(ordinal int) (Machine, error) {
					m, err := open(ordinal)
					if d, ok := m.(*cuda.Device); ok {
						driver = d.Driver.(*cudatest.Driver)
					}
					return m, err
				}
				steps[i] = trained(t, g, slices.Concat(tiny, args, []string{"--device", "cuda:0", "--snapshot", path, "--graphs", graphs})...)
				events[i] = memoryEvents(t, path)
				launched[i] = driver.Calls("cuGraphLaunch")
			}
			if launched[0] != 0 || launched[1] < len(steps[1]) {
				t.Errorf("%d graphs are launched without, and %d with, in %d steps", launched[0], launched[1], len(steps[1]))
			}
			if diff := cmp.Diff(steps[0], steps[1]); diff != "" {
				t.Errorf("steps differ (-without +with graphs):\n%s", diff)
			}
			if diff := cmp.Diff(events[0], events[1]); diff != "" {
				t.Errorf("the allocators' events differ (-without +with graphs):\n%s", diff)
			}
		})
	}
}

func TestGraphsAreForGPUs(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Run([]string{"--device", "cpu:0", "--graphs", "on"}, &stdout, &stderr, Reach{GPUs: gpus(t)})
	if want := "--graphs on: cpu:0 has none"; code != 2 || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d and %q, want 2 and %q", code, stderr.String(), want)
	}
}
