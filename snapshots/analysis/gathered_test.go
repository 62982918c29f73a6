package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
)

const gatheredFrames = `memtop-trace 1
frame main "/home/me/train.py" 10 "main"
frame model "/home/me/train.py" 5 "forward"
frame call "/env/site-packages/torch/nn/modules/module.py" 1775 "_call_impl"
frame built "/env/site-packages/torch/nn/modules/module.py" 1300 "_apply"
frame gather "/env/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param.py" 1390 "alloc_all_gather_outputs"
frame flat "/env/site-packages/torch/distributed/fsdp/_flat_param.py" 1390 "_alloc_padded_unsharded_flat_param"
frame engine "??" 0 "torch::autograd::Engine::evaluate_function(int)"
stack shard built main
stack gathers gather call model main
stack flats flat call model main
stack computes model call main
stack back engine
note block category="gathered-parameter" layer="blocks.0"
device 0
`

// passOf is a forward and a backward pass over layers whose weights are gathered by a stack: all of them first, or each
// before its layer, which frees them right after it or in backward.
func passOf(layers int, stack string, first, frees bool) string {
	var text, back strings.Builder
	line := func(to *strings.Builder, format string, layer int) {
		fmt.Fprintf(to, strings.ReplaceAll(format, "BY", stack)+"\n", layer+1)
	}
	for layer := range layers {
		line(&text, "alloc 0x1%03x00 256 stack=shard", layer)
	}
	for layer := range layers {
		if first {
			line(&text, "alloc 0x2%03x00 256 stack=BY", layer)
		}
	}
	for layer := range layers {
		if !first {
			line(&text, "alloc 0x2%03x00 256 stack=BY", layer)
		}
		line(&text, "alloc 0x3%03x00 256 stack=computes", layer)
		if frees {
			line(&text, "free_completed 0x2%03x00 256 stack=computes", layer)
		}
		line(&back, "free_completed 0x3%03x00 256 stack=back", layer)
		if !frees {
			line(&back, "free_completed 0x2%03x00 256 stack=back", layer)
		}
	}
	text.WriteString("alloc 0x900000 256 stack=back\nfree_completed 0x900000 256 stack=back\n")
	return text.String() + back.String()
}

func TestWeightsThatStayGatheredAreSaid(t *testing.T) {
	for name, test := range map[string]struct {
		pass string
		want string // of the finding, "" for none
	}{
		"one unit":                      {passOf(8, "gathers", true, false), "All of 8 weights are gathered at once: 2.0 KiB of the peak; fully_shard() of each layer, resharded after forward"},
		"layers that keep theirs":       {passOf(8, "gathers", false, false), "All of 8 weights are gathered, 2.0 KiB of the peak: one layer after another, and each stays after its forward (events 8 to 41); fully_shard() without reshard_after_forward=False"},
		"flat parameters that are kept": {passOf(8, "flats", false, false), "All of 8 weights are gathered, 2.0 KiB of the peak: one layer after another, and each stays after its forward (events 8 to 41). ShardingStrategy.FULL_SHARD"},
		"layers that free theirs":       {passOf(8, "gathers", false, true), ""},
		"two layers":                    {passOf(2, "gathers", false, false), ""},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, gatheredFrames+test.pass)
			got := ""
			for _, f := range NewIndex(tr, &tr.Devices[0]).allFindings() {
				if f.Kind == GatheredFinding || f.Kind == StaysGatheredFinding {
					got += f.Text()
				}
			}
			if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatIsGatheredAndWhen(t *testing.T) {
	tr := tracetest.Parse(t, gatheredFrames+"alloc 0x1000 512 stack=gathers note=block\n"+
		"alloc 0x2000 256 stack=gathers\nalloc 0x3000 512 stack=gathers note=block\n"+
		"free_completed 0x1000 512 stack=back\n")
	x := NewIndex(tr, &tr.Devices[0])
	equal.Values(t, "gathered at event 2", []Gathered{
		{Name: "blocks.0", Bytes: 1024, Count: 2, From: 0}, {Name: "train.py:5 forward", Bytes: 256, Count: 1, From: 1},
	}, x.GatheredAt(2))
	until := 3
	equal.Values(t, "gathered at event 0", []Gathered{{Name: "blocks.0", Bytes: 512, Count: 1, From: 0, Until: &until}}, x.GatheredAt(0))
}
