package layers

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// model returns two blocks of two parts, of which one has parts; the named ones
// were computed again in the last step, on the host.
func model(again ...string) []analysis.LayerRow {
	var list []trace.Layer
	for _, name := range []string{"", "h", "h.0", "h.0.attn", "h.0.attn.qkv", "h.0.mlp", "h.0.mlp.fc", "h.0.norm", "h.1", "h.1.mlp", "h.1.mlp.fc"} {
		l := trace.Layer{Name: name}
		for _, a := range again {
			l.Checkpointed = l.Checkpointed || name == a || len(name) > len(a) && name[:len(a)+1] == a+"."
			l.OnHost = l.Checkpointed
		}
		list = append(list, l)
	}
	return analysis.Layers(&trace.Trace{Steps: []trace.Step{{Number: 1, Layers: list}}}, 0).Rows
}

func TestALayerIsToggledAndTheOthersStay(t *testing.T) {
	tests := map[string]struct {
		rows        []analysis.LayerRow
		now, toggle string
		want        string
	}{
		"the first one":                        {model(), "checkpoint=none", "h.1", "layers=h.1"},
		"a second one":                         {model(), "checkpoint=layers=h.1", "h.0", "layers=h.0+h.1"},
		"the last one again":                   {model("h.1"), "checkpoint=layers=h.1", "h.1", "none"},
		"one of all blocks":                    {model("h.0", "h.1"), "checkpoint=block", "h.0", "layers=h.1"},
		"one that the last step did not know":  {model(), "checkpoint=layers=h.0", "h.1", "layers=h.0+h.1"},
		"a part of one that is computed again": {model("h.0", "h.1"), "checkpoint=block", "h.0.mlp", "layers=h.0.attn+h.1"},
		"a part of a part":                     {model("h.0"), "checkpoint=every=2", "h.0.attn.qkv", "layers=h.0.mlp"},
		"one around a part":                    {model("h.0.mlp"), "checkpoint=layers=h.0.mlp", "h.0", "layers=h.0"},
		"all blocks together":                  {model("h.0.mlp"), "checkpoint=layers=h.0.mlp+h.1", "h", "layers=h"},
		"the first on the host":                {model("h.0"), "host=none", "h.1.mlp", "h.1.mlp"},
		"one beside it":                        {model(), "host=h.1.mlp", "h.0", "h.0+h.1.mlp"},
		"the last on the host":                 {model(), "host=h.0", "h.0", "none"},
		"a part of one on the host":            {model(), "host=h.0", "h.0.attn", "h.0.mlp+h.0.norm"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			setting, now, _ := strings.Cut(test.now, "=")
			s := selection{setting, "none", test.rows, make([]bool, len(test.rows))}
			s.read(now)
			for i := range s.rows {
				if s.rows[i].Name == test.toggle {
					s.toggle(i)
					break
				}
			}
			if got := s.value(); got != test.want {
				t.Errorf("%s in %s becomes %s, want %s", test.toggle, test.now, got, test.want)
			}
		})
	}
}
