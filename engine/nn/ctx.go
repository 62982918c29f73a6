package nn

import (
	"slices"
	"time"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/tensor"
)

// Options are the choices of a forward pass. The zero value evaluates without
// dropout and without checkpoints.
type Options struct {
	Training   bool      // dropout is on
	Checkpoint Policy    // which blocks are computed again instead of saved
	Attention  Attention // which implementation; the zero value chooses by size
	LossMemory LossMemory
	PadVocab   bool     // autocast converts the weights of a head into a matrix of round size
	Residual   Residual // the type of the sum that goes through blocks
}

// vocabRound divides the number of rows of a padded head: the widest tile of a
// product has this many columns.
const vocabRound = 64

// vocabMultiple returns the number that must divide the rows of a head that
// autocast converts; 0 means no padding. PyTorchLoss needs rows without padding
// between them.
func (c *Ctx) vocabMultiple() int {
	if c.PadVocab && c.LossMemory == LeanLoss {
		return vocabRound
	}
	return 0
}

// HasVocab reports whether a model has a head that can be padded.
func HasVocab(m Module) bool {
	return contains(m, func(m Module) bool {
		l, ok := m.(*Linear)
		return ok && l.Classes
	})
}

// Ctx holds everything that modules compute with: a tape, options, hooks, and the
// table of layers. It belongs to one goroutine, and may be used for many steps.
type Ctx struct {
	*autograd.Tape
	Options

	layers  map[Module]*Layer
	order   []*Layer // by first call since Reset
	hooks   []*Hooks
	onHost  func(path string) bool // see PlaceLayers
	current *Layer
	product *Layer // the last one that ran: what waits is its product
	within  int    // checkpoints that are open
}

// NewCtx returns a context on a tape, with no hooks. It takes the tape's OnSave.
func NewCtx(t *autograd.Tape, o Options) *Ctx {
	c := &Ctx{Tape: t, Options: o, layers: make(map[Module]*Layer)}
	t.OnSave(c.saved)
	return c
}

// Call runs a module: its hooks, and its Forward in a frame of its own. Call then
// releases everything that the module made, except its result and the tensors
// that the tape saved. Call checkpoints a layer that the policy names.
func (c *Ctx) Call(m Module, in ...*autograd.Value) *autograd.Value {
	l := c.layerOf(m)
	if !c.Options.Checkpoint.chosen[l.Name] {
		return c.call(l, in)
	}
	return c.Checkpoint(func(in []*autograd.Value) *autograd.Value { return c.call(l, in) }, in...)
}

// CallLast is Call with a value that the caller made and no longer needs.
// CallLast releases the value unless the module returned it.
func (c *Ctx) CallLast(m Module, x *autograd.Value) *autograd.Value {
	y := c.Call(m, x)
	if y != x {
		c.Done(x)
	}
	return y
}

func (c *Ctx) call(l *Layer, in []*autograd.Value) *autograd.Value {
	defer c.leave(c.enter(l))
	defer c.SetDevice(c.SetDevice(c.place(l)))
	defer c.SetWatched(c.SetWatched(c.watched(l)))
	for _, h := range c.of(l) {
		if h.Pre != nil {
			h.Pre(c, l, in)
		}
	}
	b := &backwardPass{c: c, layer: l}
	c.Mark(b.end)
	out := c.measured(l, in)
	c.DropFetched()
	b.out = out
	c.Mark(b.begin)
	for _, h := range c.of(l) {
		if h.Post != nil {
			h.Post(c, l, in, out)
		}
	}
	return out
}

// enter makes l the current layer. It returns the previous layer and path, which
// leave restores.
func (c *Ctx) enter(l *Layer) (before *Layer, path string) {
	before, path = c.current, c.SetLayer(l.Name)
	c.current = l
	return before, path
}

func (c *Ctx) leave(before *Layer, path string) {
	c.current = before
	c.SetLayer(path)
}

// measured runs a module in a frame and notes what it cost. If it was the activation of
// a product, what it took to do both counts for the product's layer.
func (c *Ctx) measured(l *Layer, in []*autograd.Value) *autograd.Value {
	d := c.Home()
	d.Enter()
	left := false
	defer func() {
		if !left {
			d.Leave()
		}
	}()
	start := time.Now()
	out := c.Frame(func() *autograd.Value { return l.Module.Forward(c, c.bring(l, in)...) })
	took := time.Since(start)
	left = true
	transient := d.Leave() - d.Live()
	if joined := c.TakeProductTime(); joined > 0 {
		c.spent(c.product, joined)
		took -= joined
	}
	c.spent(l, took)
	c.product = l
	if c.Phase() != autograd.Recompute {
		l.ran(out, transient)
		l.Checkpointed, l.OnHost = l.Checkpointed || c.within > 0, c.Device() != c.Home()
	}
	return out
}

// spent adds time to a layer's total for the current phase.
func (c *Ctx) spent(l *Layer, took time.Duration) {
	if c.Phase() == autograd.Recompute {
		l.RecomputeNS += took.Nanoseconds()
		return
	}
	l.ForwardNS += took.Nanoseconds()
}

// Checkpoint runs f on the inputs and keeps only the inputs; the backward pass
// runs f again. f must use no other values. If the options are selective,
// Checkpoint also keeps the results that their rule names.
func (c *Ctx) Checkpoint(f func(in []*autograd.Value) *autograd.Value, in ...*autograd.Value) *autograd.Value {
	if !c.Recording() {
		return f(in)
	}
	again := func(in []*autograd.Value) *autograd.Value {
		c.within++
		defer func() { c.within-- }()
		return f(in)
	}
	if !c.Options.Checkpoint.Selective() {
		return c.Tape.Checkpoint(again, in...)
	}
	return c.SelectiveCheckpoint(c.Options.Checkpoint.Keep, again, in...)
}

// Hooks are functions that run around a module. Any may be nil. They must not
// release the values, and see them only while they run.
type Hooks struct {
	// Pre runs before the module, with its inputs.
	Pre func(c *Ctx, l *Layer, in []*autograd.Value)
	// Post runs after the module.
	Post func(c *Ctx, l *Layer, in []*autograd.Value, out *autograd.Value)
	// Backward runs when the backward pass comes to the module. grad is the
	// complete gradient of the module's result, nil if none arrived.
	Backward func(c *Ctx, l *Layer, grad *tensor.Tensor)
}

// AddHooks adds hooks to every module, and returns a function that takes them
// away again. Hooks run in the order in which they were added, those for every
// module before those for one. A recomputation runs them again.
func (c *Ctx) AddHooks(h Hooks) (remove func()) {
	return addTo(&c.hooks, h)
}

// AddHooksTo adds hooks to one module.
func (c *Ctx) AddHooksTo(m Module, h Hooks) (remove func()) {
	return addTo(&c.find(m).hooks, h)
}

func addTo(list *[]*Hooks, h Hooks) (remove func()) {
	*list = append(slices.Clone(*list), &h)
	return func() {
		*list = slices.DeleteFunc(slices.Clone(*list), func(other *Hooks) bool { return other == &h })
	}
}

// watched reports whether a hook looks at the gradient of l's result.
func (c *Ctx) watched(l *Layer) bool {
	return slices.ContainsFunc(c.of(l), func(h *Hooks) bool { return h.Backward != nil })
}

func (c *Ctx) of(l *Layer) []*Hooks {
	return slices.Concat(c.hooks, l.hooks)
}

// backwardPass follows one run of a module through the backward pass.
type backwardPass struct {
	c     *Ctx
	layer *Layer
	out   *autograd.Value
	start time.Time
}

// begin runs when everything after the module has been differentiated.
func (b *backwardPass) begin() {
	for _, h := range b.c.of(b.layer) {
		if h.Backward != nil {
			h.Backward(b.c, b.layer, b.c.GradOf(b.out))
		}
	}
	b.start = time.Now()
}

// end runs when the module has been differentiated.
func (b *backwardPass) end() {
	b.layer.BackwardNS += time.Since(b.start).Nanoseconds()
	b.c.DropFetched()
}
