package tuitest

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// liveRun is a run of our own engine on a machine: its tensors have tags, its
// steps have numbers, and its settings change the memory of a step.
type liveRun struct {
	*run
	steps    []trace.Step
	settings []trace.Value // by key
	options  []trace.Option
	changes  []trace.Change
	rank     *trace.Rank
	halfway  []uint64       // activations of a step that has not ended, nil between steps
	table    []uint64       // the block of the growing table, one or none
	purpose  map[uint64]int // of an address: index into categoryNames
	lost     []uint64       // unreachable copies: a leak
	peak     int64
	used     int64 // requested bytes in use
	after    [categories]int64
	atPeak   [categories]int64
}

const categories = trace.CategoryCount

// categoryNames are in the order of trace.Categories.
var categoryNames = func() (names [categories]string) {
	for i, c := range trace.Categories {
		names[i] = c.String()
	}
	return names
}()

// stepNS is how long a step takes with default settings.
const stepNS = 42_000_000

func newLiveRun() *liveRun {
	r := &liveRun{run: newRun(4, 1<<20), purpose: make(map[uint64]int)}
	r.settings = []trace.Value{
		{Key: "amp", Value: "off"},
		{Key: "checkpoint", Value: "none"},
		{Key: "clip", Value: "1"},
		{Key: "lr", Value: "0.0003"},
		{Key: "optimizer", Value: "adamw"},
	}
	r.options = []trace.Option{
		{Key: "checkpoint", Value: "none", About: "which blocks are computed again instead of kept", Choices: []string{"none", "block", "every=2"}, Free: true},
		{Key: "amp", Value: "off", About: "precision of the operations", Choices: []string{"off", "bf16", "fp16"}},
		{Key: "optimizer", Value: "adamw", About: "what follows the gradients", Choices: []string{"sgd", "adam", "adamw", "lion"}},
		{Key: "lr", Value: "0.0003", About: "learning rate", Free: true},
		{Key: "clip", Value: "1", About: "most length of all gradients together", Free: true},
	}
	r.now = began - 60_000_000
	plain := r.in.Pool(trace.Pool{})
	for layer := range r.layers {
		r.own("parameter", "weight", layer, r.goAt("weights", "engine/nn/linear.go", 37, "memtop/engine/nn.NewLinear"), r.weight, plain)
	}
	for layer := range r.layers {
		r.own("optimizer", "first moment", layer, r.goAt("moments", "engine/optim/adam.go", 61, "memtop/engine/optim.(*Adam).state"), r.weight, plain)
	}
	r.recording, r.now = true, began
	return r
}

// goAt returns a stack of a Go program.
func (r *liveRun) goAt(name, file string, line int32, function string) trace.StackID {
	return r.stack(name, r.frame(file, line, function),
		r.frame("engine/train/step.go", 88, "memtop/engine/train.(*Trainer).Step"),
		r.frame("cmd/memtrain/run.go", 120, "main.train"), r.frame("cmd/memtrain/main.go", 31, "main.main"))
}

// own allocates a tagged tensor.
func (r *liveRun) own(category, role string, layer int, stack trace.StackID, size int64, pool trace.PoolID) uint64 {
	name := "h." + strconv.Itoa(layer) + ".mlp"
	if layer < 0 {
		name = ""
	}
	r.note = r.in.Note(trace.Note{
		Category: r.in.String(category), Layer: r.in.String(name), Role: r.in.String(role),
		Shape: r.in.String("[" + strconv.FormatInt(size/1024, 10) + ", 256]"), DType: r.in.String("float32"),
	})
	addr := r.alloc(size, stack, 0, pool)
	r.note = 0
	r.purpose[addr] = slices.Index(categoryNames[:], category)
	r.account(addr, size)
	return addr
}

// account keeps the sums by category and the peak of the step.
func (r *liveRun) account(addr uint64, by int64) {
	r.after[r.purpose[addr]] += by
	if r.used += by; r.used > r.peak {
		r.peak, r.atPeak = r.used, r.after
	}
}

func (r *liveRun) release(addr uint64, stack trace.StackID) {
	r.account(addr, -r.live[addr].size)
	r.drop(addr, stack, true)
}

func (r *liveRun) setting(key string) string {
	for _, v := range r.settings {
		if v.Key == key {
			return v.Value
		}
	}
	return ""
}

// kept is the number of bytes of a layer's activation that wait for the
// backward pass.
func (r *liveRun) kept(tokens int64) int64 {
	size := tokens * 512
	if r.setting("checkpoint") != "none" {
		size /= 4
	}
	if r.setting("amp") != "off" {
		size /= 2
	}
	return size
}

// tokensOf says how many tokens a step has: samples get longer and longer.
func tokensOf(number int64) int64 { return 4096 + 64*number }

// plansAt reports whether a step needs a plan that is not in the cache yet: most
// of the early ones do, and fewer and fewer later.
func plansAt(number int64) bool {
	return number <= 10 || slices.Contains([]int64{12, 15, 19, 25, 33, 46}, number)
}

// train runs one step, or the rest of it.
func (r *liveRun) train() {
	if r.halfway == nil {
		r.begin()
	}
	number, plain := int64(len(r.steps))+1, r.in.Pool(trace.Pool{})
	r.mistakes(number, plain)
	r.backwardPass(r.halfway, plain)
	r.halfway = nil
	r.write(trace.StepEnd, 0, number, 0, 0)
	r.steps = append(r.steps, r.report(number, tokensOf(number)))
}

// begin runs the first half of a step.
func (r *liveRun) begin() {
	number := int64(len(r.steps)) + 1
	r.apply(number)
	r.write(trace.StepBegin, 0, number, 0, 0)
	r.peak, r.atPeak = r.used, r.after
	r.halfway = r.forwardPass(number, tokensOf(number), r.in.Pool(trace.Pool{}))
}

func (r *liveRun) forwardPass(number, tokens int64, plain trace.PoolID) []uint64 {
	stack := r.goAt("forward", "engine/nn/mlp.go", 54, "memtop/engine/nn.(*MLP).Forward")
	if len(r.table) > 0 && tokens != tokensOf(number-1) {
		r.release(r.table[0], stack)
		r.table = nil
	}
	if len(r.table) == 0 {
		mask := r.goAt("mask", "engine/nn/attention.go", 112, "memtop/engine/nn.(*Attention).mask")
		r.table = []uint64{r.own("workspace", "mask", -1, mask, tokens*64, plain)}
	}
	var kept []uint64
	for layer := range r.layers {
		kept = append(kept, r.own("activation", "gelu output", layer, stack, r.kept(tokens), plain))
	}
	return kept
}

func (r *liveRun) backwardPass(kept []uint64, plain trace.PoolID) {
	stack := r.goAt("backward", "engine/autograd/backward.go", 77, "memtop/engine/autograd.Backward")
	for layer := r.layers - 1; layer >= 0; layer-- {
		grad := r.own("gradient", "gradient of weight", layer, stack, r.weight, plain)
		r.release(kept[layer], stack)
		r.release(grad, stack)
	}
}

// mistakes are leaks that a leak finder should find, and memory that it should
// not report: a cache that fills up.
func (r *liveRun) mistakes(number int64, plain trace.PoolID) {
	r.own("activation", "output of h.0.mlp", 0, r.goAt("kept", "cmd/memtrain/statistic.go", 19, "main.(*statistic).keep"), 96_000, plain)
	if plansAt(number) {
		r.own("workspace", "plan", -1, r.goAt("plans", "engine/nn/plan.go", 40, "memtop/engine/nn.(*plans).get"), 128_000, plain)
	}
	if number%9 == 4 {
		r.own("other", "history", -1, r.goAt("history", "cmd/memtrain/history.go", 23, "main.(*history).add"), 40_000, plain)
	}
	handle := r.goAt("handle", "cmd/memtrain/batch.go", 64, "main.copyBatch")
	for _, addr := range r.lost {
		t := r.live[addr]
		r.write(trace.Lost, addr, t.size, handle, 0)
	}
	r.lost = []uint64{r.own("input", "copy of the batch", -1, handle, 16_384, plain)}
}

// report is the run's report of an ended step.
func (r *liveRun) report(number, tokens int64) trace.Step {
	ns := stepNS + number%5*200_000
	if r.setting("checkpoint") != "none" {
		ns = ns * 13 / 10
	}
	if r.setting("amp") != "off" {
		ns = ns * 7 / 10
	}
	r.now += ns / 1000
	reserved := int64(0)
	for _, s := range r.slabs {
		reserved += s.block * int64(s.blocks)
	}
	return trace.Step{
		Number: number, Time: r.now, Duration: ns, Tokens: tokens, Loss: 2 + 3/float64(number+1),
		Allocated: r.used, Reserved: reserved, PeakAllocated: r.peak, PeakReserved: reserved,
		Categories: amounts(r.after), AtPeak: amounts(r.atPeak), Settings: slices.Clone(r.settings),
		Layers: r.layerTable(number, tokens), ProbeNS: 21_000,
	}
}

func amounts(bytes [categories]int64) []trace.Amount {
	list := make([]trace.Amount, categories)
	for i, n := range bytes {
		list[i] = trace.Amount{Name: categoryNames[i], Bytes: n}
	}
	return list
}

// layerTable has the measurements of hooks: the model, its blocks and their
// parts.
func (r *liveRun) layerTable(number, tokens int64) []trace.Layer {
	checkpointed := r.setting("checkpoint") != "none"
	shape := "[8, " + strconv.FormatInt(tokens/8, 10) + ", 128]"
	all := []trace.Layer{{Class: "GPT", OutputShape: shape, DType: "float32", OutputBytes: tokens * 512, ForwardNS: 14_000_000, BackwardNS: 25_000_000, Calls: 1}}
	for layer := range r.layers {
		name := "h." + strconv.Itoa(layer)
		l := trace.Layer{
			Name: name, Class: "Block", OutputShape: shape, DType: "float32", OutputBytes: tokens * 512,
			ForwardNS: 3_200_000 + number%3*10_000, BackwardNS: 6_000_000, Calls: 1, Checkpointed: checkpointed, TransientPeakBytes: 1 << 20,
		}
		if checkpointed {
			l.RecomputeNS = 3_100_000
		}
		part := l
		part.Name, part.Class, part.ParameterBytes, part.SavedBytes = name+".mlp", "MLP", r.weight, r.kept(tokens)
		all = append(all, l, part)
	}
	return all
}
