package iteration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/analysis/lines"
)

// code is the frames and stacks of the programs below, innermost frame first.
const code = `
frame main "/home/me/train.py" 10 "<module>"
frame data "/home/me/train.py" 40 "train"
frame model "/home/me/train.py" 41 "train"
frame loss "/home/me/train.py" 42 "train"
frame backw "/home/me/train.py" 43 "train"
frame optimize "/home/me/train.py" 44 "train"
frame optimize2 "/home/me/train.py" 45 "train"
frame zero "/home/me/train.py" 46 "train"
frame evaluate "/home/me/train.py" 50 "train"
frame build "/home/me/train.py" 5 "main"
frame mystep "/home/me/muon.py" 9 "step"
frame layers "/home/me/model.py" 20 "forward"
frame head "/home/me/model.py" 22 "forward"
frame block "/home/me/model.py" 60 "forward"
frame call "/env/site-packages/torch/nn/modules/module.py" 1700 "_call_impl"
frame torchbackward "/env/site-packages/torch/autograd/__init__.py" 300 "backward"
frame adam "/env/site-packages/torch/optim/adam.py" 150 "_multi_tensor_adam"
frame step "/env/site-packages/torch/optim/adam.py" 200 "step"
frame wrap "/env/site-packages/torch/optim/optimizer.py" 500 "wrapper"
frame clear "/env/site-packages/torch/optim/optimizer.py" 900 "zero_grad"
frame make "/env/site-packages/torch/optim/optimizer.py" 300 "__init__"
frame schedule "/env/site-packages/torch/optim/lr_scheduler.py" 100 "step"
frame trainer "/env/site-packages/transformers/trainer.py" 2500 "training_step"
frame trainerstep "/env/site-packages/transformers/trainer.py" 2600 "_inner_training_loop"
frame accelerate "/env/site-packages/accelerate/optimizer.py" 170 "step"
frame closure "/env/site-packages/lightning/loops/automatic.py" 140 "closure"
frame apply "/env/site-packages/torch/nn/modules/module.py" 930 "_apply"
frame loader "/env/site-packages/transformers/modeling_utils.py" 4000 "from_pretrained"
frame loader2 "/env/site-packages/transformers/modeling_utils.py" 4010 "from_pretrained"
frame engine "??" 0 "torch::autograd::Engine::evaluate_function(int)"
frame node "??" 0 "torch::autograd::generated::MulBackward0::apply(int)"
frame checkpoint "/env/site-packages/torch/utils/checkpoint.py" 1100 "unpack_hook"
stack DATA data main
stack FORWARD block call layers call model main
stack HEAD head call model main
stack LOSS loss main
stack BACKWARD node engine
stack RECOMPUTED block call layers checkpoint node engine
stack ROOT torchbackward backw main
stack PYTHONRECOMPUTED block call layers checkpoint
stack STEP adam step wrap optimize main
stack STEP2 adam step wrap optimize2 main
stack MUON mystep wrap optimize main
stack FUSED adam step wrap node engine
stack SCHEDULE schedule optimize main
stack INIT make build main
stack ZERO clear zero main
stack EVALUATE block call layers call evaluate main
stack HFFORWARD block call layers call trainer trainerstep main
stack HFSTEP adam step wrap accelerate trainerstep main
stack HFZERO clear trainerstep main
stack CLOSUREFORWARD block call layers call closure step wrap optimize main
stack CLOSURESTEP adam step wrap optimize main
stack LOADA apply loader build main
stack LOADB apply loader2 build main
device 0
`

// program is what a program allocates, by stack. After a name, "=" keeps it to the
// end of the trace, and "/S" frees it from the stack S; else it is freed by no known
// stack at the end of its part.
type program struct {
	text   strings.Builder
	addr   int
	begins []int // the first event of each repetition
	n      int   // events so far
}

func (p *program) run(words []string) {
	var open []string
	for _, word := range words {
		name, from, _ := strings.Cut(strings.TrimSuffix(word, "="), "/")
		by := ""
		p.addr++
		addr := fmt.Sprintf("0x%x", p.addr<<12)
		fmt.Fprintf(&p.text, "alloc %s 512 stack=%s\n", addr, name)
		p.n++
		switch {
		case strings.HasSuffix(word, "="):
			continue
		case from != "":
			by = " stack=" + from
		}
		open = append(open, fmt.Sprintf("free_requested %s 512%s\nfree_completed %s 512%s\n", addr, by, addr, by))
	}
	for _, text := range open {
		p.text.WriteString(text)
		p.n += 2
	}
}

func TestStepsAreInferredFromWhatPrograms(t *testing.T) {
	tests := map[string]struct {
		before, step, sometimes, after string // sometimes is after every third step
		n                              int
		want                           int
		by                             iteration.Evidence
	}{
		"a training loop":                                    {"LOADA= INIT=", "DATA FORWARD HEAD LOSS ROOT BACKWARD STEP", "", "", 7, 7, iteration.Optimizer},
		"state that the first step makes":                    {"", "DATA FORWARD HEAD BACKWARD STEP SCHEDULE", "", "FORWARD", 4, 4, iteration.Optimizer},
		"gradient accumulation":                              {"", "FORWARD BACKWARD FORWARD BACKWARD FORWARD BACKWARD STEP", "", "", 5, 5, iteration.Optimizer},
		"evaluation between steps":                           {"", "FORWARD HEAD BACKWARD STEP", "EVALUATE EVALUATE", "", 9, 9, iteration.Optimizer},
		"two optimizers, one after the other":                {"", "FORWARD BACKWARD STEP STEP2", "", "", 6, 6, iteration.Optimizer},
		"two networks that train in turn":                    {"", "FORWARD BACKWARD STEP FORWARD BACKWARD STEP2", "", "", 6, 6, iteration.Optimizer},
		"an optimizer of the program's own":                  {"", "FORWARD BACKWARD MUON MUON", "", "", 6, 6, iteration.Optimizer},
		"a checkpointed model":                               {"", "FORWARD BACKWARD RECOMPUTED BACKWARD STEP", "", "", 5, 5, iteration.Optimizer},
		"Hugging Face's trainer":                             {"", "HFFORWARD BACKWARD HFSTEP", "", "", 5, 5, iteration.Optimizer},
		"a closure around forward and backward":              {"", "CLOSUREFORWARD CLOSUREFORWARD BACKWARD CLOSURESTEP", "", "", 5, 5, iteration.Optimizer},
		"a fused optimizer":                                  {"FORWARD BACKWARD/HFZERO STEP=", "HFFORWARD BACKWARD/HFZERO", "", "", 6, 7, iteration.ZeroGrad},
		"an optimizer inside of backward":                    {"", "FORWARD HEAD BACKWARD FUSED BACKWARD FUSED", "", "", 6, 6, iteration.Backward},
		"no optimizer":                                       {"", "DATA FORWARD HEAD BACKWARD BACKWARD", "", "", 6, 6, iteration.Backward},
		"tensors without a module":                           {"", "DATA LOSS BACKWARD BACKWARD", "", "", 6, 0, iteration.None},
		"stacks of Python alone":                             {"", "DATA FORWARD HEAD LOSS ROOT PYTHONRECOMPUTED", "", "", 6, 6, iteration.Backward},
		"calls of a model, as of layers in one forward pass": {"LOADA= LOADB= LOADA= LOADB=", "DATA FORWARD FORWARD HEAD", "", "", 8, 0, iteration.None},
		"one forward pass over many layers":                  {"LOADA=", "DATA FORWARD FORWARD FORWARD FORWARD HEAD", "", "", 1, 0, iteration.None},
		"a model that is loaded part by part":                {"", "LOADA= LOADB=", "", "", 9, 0, iteration.None},
		"parts that are loaded and given back":               {"", "LOADA LOADB", "", "", 9, 0, iteration.None},
		"one step, of which the optimizer is one":            {"", "FORWARD BACKWARD STEP", "", "", 1, 1, iteration.Optimizer},
		"one network that trains twice as often":             {"", "FORWARD BACKWARD STEP2 FORWARD BACKWARD STEP FORWARD BACKWARD STEP", "", "", 4, 8, iteration.Optimizer},
		"a scheduler, which is no optimizer":                 {"INIT=", "FORWARD HEAD BACKWARD SCHEDULE", "", "", 4, 4, iteration.Backward},
		"nothing":                                            {"", "", "", "", 1, 0, iteration.None},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := new(program)
			p.run(strings.Fields(test.before))
			for i := range test.n {
				p.begins = append(p.begins, p.n)
				p.run(strings.Fields(test.step))
				if i%3 == 2 {
					p.run(strings.Fields(test.sometimes))
				}
			}
			p.run(strings.Fields(test.after))
			found, by := infer(t, code+p.text.String())
			if len(found) != test.want || by != test.by {
				t.Fatalf("got %d from %s, want %d from %s: %v", len(found), by, test.want, test.by, found)
			}
			ordered(t, found, p.n)
			for i, begin := range p.begins {
				if s := found; test.want == test.n && (begin+1 < s[i].From || begin+1 >= s[i].To) {
					t.Errorf("step %d is the events [%d, %d), without %d", i, s[i].From, s[i].To, begin+1)
				}
				if last := begin + len(strings.Fields(test.step)) - 1; by == iteration.Backward && last >= found[i].To {
					t.Errorf("step %d ends before %d, which allocates for its backward pass", i, found[i].To)
				}
			}
		})
	}
}

// infer infers the steps of a trace's only device.
func infer(tb testing.TB, text string) ([]iteration.Span, iteration.Evidence) {
	tb.Helper()
	tr := tracetest.Parse(tb, text)
	whose := new(lines.Code)
	whose.Read(tr.Tables)
	return iteration.Infer(iteration.Trace{
		Events: tr.Devices[0].Events, Tables: tr.Tables, Code: whose,
	})
}

// ordered checks that steps follow each other within the events.
func ordered(t *testing.T, found []iteration.Span, events int) {
	t.Helper()
	at := 0
	for i, s := range found {
		if s.From < at || s.To <= s.From || s.To > events {
			t.Errorf("step %d is the events [%d, %d) of %d, after one that ends at %d", i, s.From, s.To, events, at)
		}
		at = s.To
	}
}
