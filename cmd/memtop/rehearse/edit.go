package rehearse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/report"
)

// change is a change of a program that may take less memory. Some are lines that the user could write, which a rehearsal
// executes where they would stand; others are arguments, or settings of PyTorch's allocator.
type change struct {
	text    string
	edit    *python.Edit
	calls   []string // arguments of calls, see python.Told
	conf    string   // more settings of the allocator
	refused string   // why the program cannot have it, "" if it can
}

const expandable = "expandable_segments:True"

// and returns two changes as one.
func (c change) and(other change) change {
	both := change{
		text: joined(c.text, other.text, ", "), conf: joined(c.conf, other.conf, ","), calls: slices.Concat(c.calls, other.calls),
		edit: cmp.Or(c.edit, other.edit), refused: cmp.Or(c.refused, other.refused),
	}
	if c.edit != nil && other.edit != nil {
		both.edit = &python.Edit{File: c.edit.File, Line: c.edit.Line, Text: c.edit.Text + other.edit.Text}
	}
	return both
}

func joined(front, back, by string) string {
	if front == "" || back == "" {
		return front + back
	}
	return front + by + back
}

// takesEffect reports whether the program says when it has the change.
func (c *change) takesEffect() bool { return c.edit != nil || c.calls != nil }

// whyNot returns why a program cannot have the change, "" if it can, from what its rehearsal with it found.
func (c *change) whyNot(its *report.Rehearsal, err error) string {
	switch {
	case c.refused != "":
		return c.refused
	case err != nil:
		return "the program fails with it"
	case its.Unchanged != "":
		return its.Unchanged
	case its.Most() == nil:
		return "the program uses no GPU with it"
	}
	return ""
}

// worthARun returns the changes that may make a program take less: what it needs has findings that call for some.
func worthARun(model *python.Model, needs *report.RehearsedOn) []change {
	recomputed, cast := recompute(model, model.Blocks), autocast(model)
	recomputed.text, cast.text = "checkpointing of the model's blocks", "autocast of the model's forward to bfloat16"
	return append([]change{recomputed, cast}, arguments(model, needs)...)
}

// arguments returns those that the findings of a device call for.
func arguments(m *python.Model, needs *report.RehearsedOn) (list []change) {
	if needs.Finds("foreach_temporaries") {
		refused := ""
		if m.Fused == "" && m.File != "" {
			refused = "the optimizer has no fused form"
		}
		list = append(list, edit(m, fusedOptimizer, fmt.Sprintf(fusing, m.Fused), refused))
	}
	if needs.Finds("bucket_copies") {
		list = append(list, change{text: "gradient_as_bucket_view=True of DistributedDataParallel", calls: []string{"gradient_as_bucket_view=True"}})
	}
	if needs.Finds("stays_gathered") {
		list = append(list, change{text: "fully_shard without reshard_after_forward=False", calls: []string{"reshard_after_forward"}})
	}
	return list
}

const fusedOptimizer = "fused=True of the optimizer"

// nowhere is why a program cannot have an edit.
const nowhere = "no line of its own makes an optimizer where a variable has the model"

// edit returns a change by lines of Python, or without them where the program has no place for them.
func edit(m *python.Model, text, lines, refused string) change {
	if refused == "" && m.File == "" {
		refused = nowhere
	}
	return change{text: text, refused: refused, edit: &python.Edit{File: m.File, Line: m.Line, Text: lines}}
}

// recompute has blocks of a model recomputed in the backward pass, and not keep what they save. A model of Hugging
// Face's has a switch for it.
func recompute(m *python.Model, blocks []python.Block) change {
	names, kept := make([]string, len(blocks)), slices.Clone(m.Kept)
	for i, b := range blocks {
		names[i] = b.Name
	}
	for _, b := range m.Blocks {
		if !slices.Contains(names, b.Name) {
			kept = append(kept, b.Name)
		}
	}
	text, refused := fmt.Sprintf("recomputing %d of %d blocks", len(blocks), len(m.Blocks)), m.NotRecomputed
	if len(blocks) == 0 && m.File != "" {
		refused = cmp.Or(refused, "the optimized model has no blocks that free memory")
	}
	note := ""
	if m.Norms {
		note = twice
	}
	switch {
	case m.Switch == nil:
		return edit(m, text, fmt.Sprintf(recomputing, note, list(names), m.Expression), refused)
	case len(kept) == 0:
		return edit(m, text, fmt.Sprintf(switching, note, part(m, *m.Switch)), refused)
	case !m.OneByOne:
		refused = cmp.Or(refused, "the model can checkpoint only all of its blocks, or none")
	}
	return edit(m, text, fmt.Sprintf(switching+keeping, note, part(m, *m.Switch), list(kept), m.Expression), refused)
}

// The lines of edits. Their names begin with an underscore, so that they take the place of none of the program's.
const (
	fusing = `# the same as fused=True where the optimizer is made
import torch as _torch
_torch.optim.%s.__init__.__kwdefaults__["fused"] = True
`
	twice       = "; their running statistics are updated twice a step"
	recomputing = `# recompute these blocks in the backward pass%s
from functools import partial as _partial
from torch.utils.checkpoint import checkpoint as _checkpoint
for _name in %s:
    _block = %s.get_submodule(_name)
    _block.forward = _partial(_checkpoint, _block.forward, use_reentrant=False)
`
	switching = `# recompute blocks in the backward pass%s
%s.gradient_checkpointing_enable({"use_reentrant": False})
`
	keeping = `for _name in %s:  # these keep what they save
    %s.get_submodule(_name).gradient_checkpointing = False
`
	casting = `# compute matrix products in bfloat16; what the model returns stays as it is for the loss
import torch as _torch
from torch.utils._pytree import tree_map_only as _map_only
def _as_float(_model, _inputs, _output):
    return _map_only(_torch.Tensor, lambda _t: _t.float() if _t.dtype == _torch.bfloat16 else _t, _output)
for _model in [%s]:
    _model.forward = _torch.autocast("cuda", _torch.bfloat16)(_model.forward)
    _model.register_forward_hook(_as_float)
`
	offloading = `# keep what is saved for the backward pass in the machine's memory
import torch as _torch
for _model in [%s]:
    def _offloaded(*_inputs, _forward=_model.forward, **_named):
        with _torch.autograd.graph.save_on_cpu(pin_memory=True):
            return _forward(*_inputs, **_named)
    _model.forward = _offloaded
`
)

// autocast computes the forward passes of trained models in bfloat16 where that is usual.
func autocast(m *python.Model) change {
	return wrapped(m, "autocast to bfloat16", casting, m.NotAutocast)
}

// offload keeps what trained models save for the backward pass in the machine's memory.
func offload(m *python.Model) change {
	return wrapped(m, "saved tensors kept in the machine's memory", offloading, "")
}

func wrapped(m *python.Model, text, lines, refused string) change {
	var models []string
	for _, name := range m.Trained {
		models = append(models, part(m, name))
	}
	if len(models) == 0 && refused == "" && m.File != "" {
		refused = "no variable has the model that is called"
	}
	return edit(m, text, fmt.Sprintf(lines, strings.Join(models, ", ")), refused)
}

// part returns the expression for a part of the optimized module.
func part(m *python.Model, name string) string {
	if name == "" {
		return m.Expression
	}
	return fmt.Sprintf("%s.get_submodule(%q)", m.Expression, name)
}

// list returns names as a list in Python. Names of modules have no quotation marks that Python writes otherwise.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
