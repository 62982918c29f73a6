package rehearse

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/probe/python"
)

func TestBlocksAreRecomputedAsTheModelAllows(t *testing.T) {
	own := ""
	blocks := []python.Block{{Name: "h.0", Frees: 5}, {Name: "h.1", Frees: 5}}
	model := func(m python.Model) *python.Model {
		m.File, m.Line, m.Expression, m.Blocks = "train.py", 7, "net.model", blocks
		return &m
	}
	for name, test := range map[string]struct {
		model           *python.Model
		blocks          []python.Block
		lines           string // that the edit has, or
		refused, absent string
	}{
		"one by one":               {model(python.Model{}), blocks[:1], `for _name in ["h.0"]:`, "", "h.1"},
		"with running statistics":  {model(python.Model{Norms: true}), blocks[:1], "twice a step\nfrom", "", "h.1"},
		"by a switch":              {model(python.Model{Switch: &own}), blocks, "net.model.gradient_checkpointing_enable(", "", "for"},
		"some of those by one":     {model(python.Model{Switch: &own, OneByOne: true}), blocks[1:], `for _name in ["h.0"]:  # these keep`, "", "h.1"},
		"others of the same class": {model(python.Model{Switch: &own, OneByOne: true, Kept: []string{"x"}}), blocks, `for _name in ["x"]:  # these keep`, "", "h.1"},
		"a switch for all":         {model(python.Model{Switch: &own}), blocks[1:], "", "only all", ""},
		"none may be":              {model(python.Model{NotRecomputed: "it is compiled"}), nil, "", "it is compiled", ""},
		"none frees anything":      {model(python.Model{}), nil, "", "no blocks", ""},
		"nobody knows where":       {&python.Model{}, nil, "", nowhere, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := recompute(test.model, test.blocks)
			if test.refused != "" {
				if !strings.Contains(got.refused, test.refused) {
					t.Errorf("refused: %q", got.refused)
				}
				return
			}
			if got.refused != "" || !strings.Contains(got.edit.Text, test.lines) || strings.Contains(got.edit.Text, test.absent) || got.edit.Line != 7 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAutocastIsOfTheModelThatIsCalled(t *testing.T) {
	got := autocast(&python.Model{File: "train.py", Expression: "lit", Trained: []string{"", "net"}})
	if !strings.Contains(got.edit.Text, `for _model in [lit, lit.get_submodule("net")]:`) || got.refused != "" {
		t.Errorf("%+v", got)
	}
	if got := autocast(&python.Model{File: "train.py", Expression: "lit"}); got.refused == "" {
		t.Errorf("with no model that is called: %+v", got)
	}
}

func TestAPatchGoesBeforeItsLine(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		line   int
		want   string
	}{
		"in the middle": {"a\nb\nc\n  d\ne\nf\ng\nh\n", 4, "@@ -1,6 +1,8 @@\n a\n b\n c\n+  one\n+    two\n   d\n e\n f\n"},
		"at the start":  {"a\nb\n", 1, "@@ -1,2 +1,4 @@\n+one\n+  two\n a\n b\n"},
		"at the end":    {"a\n\tb", 2, "@@ -1,2 +1,4 @@\n a\n+\tone\n+\t  two\n \tb\n\\ No newline at end of file\n"},
		"of Windows":    {"a\r\nb\r\n", 2, "@@ -1,2 +1,4 @@\n a\r\n+one\r\n+  two\r\n b\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := patch(&python.Edit{File: "train.py", Line: test.line, Text: "one\n  two\n"}, test.source)
			if want := "--- train.py\n+++ train.py\n" + test.want; got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestTheNumberOfBlocksIsGuessedFromWhatTheyFree(t *testing.T) {
	blocks := []python.Block{{Frees: 40}, {Frees: 30}, {Frees: 20}, {Frees: 10}}
	for name, test := range map[string]struct {
		fails, fits int
		missing     int64
		want        []int
	}{
		"what is enough, and one less":       {0, 4, 60, []int{2, 1}},
		"the first may be enough":            {0, 4, 10, []int{1}},
		"only open ones":                     {1, 3, 20, []int{2}},
		"the middle if all would be needed":  {0, 4, 95, []int{2}},
		"the middle if nothing were missing": {0, 4, 0, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := between(blocks, test.fails, test.fits, test.missing); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
