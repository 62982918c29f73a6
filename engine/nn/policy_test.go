package nn_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/nn"
)

func TestPoliciesDivideBlocks(t *testing.T) {
	// Every block is a letter: those of a checkpoint in capitals, segments apart.
	tests := map[string]struct {
		policy nn.Policy
		blocks int
		want   string
	}{
		"none is one run":             {nn.Policy{}, 5, "abcde"},
		"per block":                   {nn.PerBlock(), 3, "A B C"},
		"every two, and what is left": {nn.Every(2), 5, "AB CD E"},
		"every zero is every one":     {nn.Every(0), 2, "A B"},
		"segments of √9":              {nn.SqrtN(), 9, "ABC DEF GHI"},
		"segments of √10, rounded up": {nn.SqrtN(), 10, "ABCD EFGH IJ"},
		"a ratio of nothing":          {nn.Ratio(0), 3, "a b c"},
		"half, spread":                {nn.Ratio(0.5), 4, "a B c D"},
		"a third, spread":             {nn.Ratio(1.0 / 3), 6, "a b C d e F"},
		"all":                         {nn.Ratio(1), 3, "A B C"},
		"more than all":               {nn.Ratio(7), 2, "A B"},
		"selective is per block":      {nn.Selective(), 2, "A B"},
		"no blocks at all":            {nn.SqrtN(), 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var parts []string
			for _, s := range test.policy.Segments(test.blocks) {
				letters := "abcdefghijklmnop"[s.From:s.To]
				if s.Checkpoint {
					letters = strings.ToUpper(letters)
				}
				parts = append(parts, letters)
			}
			if got := strings.Join(parts, " "); got != test.want {
				t.Errorf("%d blocks are divided %q, want %q", test.blocks, got, test.want)
			}
		})
	}
}

func TestPoliciesAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{
		"none", "block", "every=3", "sqrt", "ratio=0.25", "selective", "selective=attention+linear",
		"layers=h.0", "layers=h.0+h.3.mlp",
	} {
		p, err := nn.ParsePolicy(text)
		if err != nil || p.String() != text {
			t.Errorf("%q is read as %q, error %v", text, p, err)
		}
	}
	for _, text := range []string{
		"", "all", "every", "every=", "every=0", "every=x", "ratio=1.5", "ratio=-1", "ratio=NaN", "block=2", "none=", "selective=",
		"layers", "layers=", "layers=h.0+", "plan", "plan=96MiB",
	} {
		p, err := nn.ParsePolicy(text)
		if err == nil {
			t.Errorf("%q is read as %v, want an error", text, p)
			continue
		}
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "every=K") {
			t.Errorf("error for %q is %q, want one line that says what there is", text, err)
		}
	}
}
