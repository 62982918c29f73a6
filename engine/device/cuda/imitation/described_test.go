package imitation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

func TestAGPUOfOnesOwnIsReadAsTheCatalogueIsPrinted(t *testing.T) {
	for _, g := range imitation.Catalogue() {
		text, err := json.Marshal(g)
		fatal.If(t, err)
		again, err := imitation.Describe(strings.NewReader(string(text)))
		if err != nil || again.Variable(1, false) != g.Variable(1, false) {
			t.Errorf("%s is read as %+v, %v", text, again, err)
		}
	}
}

func TestAGPUThatIsNoneIsRefused(t *testing.T) {
	const good = `{"name": "x", "title": "X", "total_bytes": 8589934592, "compute_capability": "8.6", "processors": 28, "l2_bytes": 4194304`
	g, err := imitation.Describe(strings.NewReader(good + "}"))
	if err != nil || g.Context != 28*1536*2048+64<<20 || g.Channels != 4 {
		t.Errorf("%+v, %v", g, err)
	}
	for name, text := range map[string]string{
		"nothing":               "",
		"no JSON":               "total=5",
		"an unknown field":      good + `, "memory": 5}`,
		"an unknown capability": strings.Replace(good, "8.6", "8.7", 1) + "}",
		"no memory":             strings.Replace(good, "8589934592", "0", 1) + "}",
		"no processors":         strings.Replace(good, "28", "0", 1) + "}",
		"a context of all":      good + `, "context_bytes": 8589934592}`,
		"a negative context":    good + `, "context_bytes": -1}`,
		"a title with a figure": strings.Replace(good, `"X"`, `"X;total=1"`, 1) + "}",
		"a megabyte":            good + `, "sources": "` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if g, err := imitation.Describe(strings.NewReader(text)); err == nil {
				t.Errorf("it is taken for %+v", g)
			}
		})
	}
}
