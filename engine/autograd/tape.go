package autograd

import (
	"reflect"
	"time"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Phase is the part of a step that runs.
type Phase uint8

// The phases.
const (
	Forward Phase = iota
	Backward
	Recompute // a checkpoint's forward, again, within a backward pass
)

// String returns "forward", "backward" or "recompute".
func (p Phase) String() string {
	return [...]string{"forward", "backward", "recompute"}[p]
}

// Tape runs operations and records them for [Tape.Backward]. It computes on one
// device, or on that device's host, see "Two devices".
type Tape struct {
	home   *tensor.Device
	device *tensor.Device // where operations compute now: home, or its host
	random device.Seed
	frames []*frame
	temps  []*tensor.Tensor // handles of operations under way
	record *record          // nil while nothing is recorded
	caster Caster
	casts  map[castKey]*cast
	made   []castKey // of casts, in order
	// keepCasts counts the calls of KeepCasts that are under way.
	keepCasts   int
	keeper      *keeper  // of the selective checkpoint that runs
	waiting     *waiting // see waiting.go
	activated   bool     // see SetActivated
	productTime time.Duration
	layer       string
	watched     bool // see SetWatched
	phase       Phase
	onSave      func(layer string, bytes int64)
	offload     func(layer string) bool // see OffloadSaved
	fetched     []*fetched              // in the order in which they were fetched
	orders      [Recompute + 1]order
	runs        int
}

// NewTape returns a tape whose random numbers come from the given seed. The stack
// traces of the device's allocations begin with the caller of the operation.
func NewTape(d *tensor.Device, seed uint64) *Tape {
	d.Memory().Hide(reflect.TypeFor[Tape]().PkgPath())
	return &Tape{home: d, device: d, random: device.Seed{Seed: seed}, casts: make(map[castKey]*cast)}
}

// Home returns the device that the tape was made for.
func (t *Tape) Home() *tensor.Device { return t.home }

func (t *Tape) backend() device.Backend { return t.device.Backend() }

// Phase returns the part of the step that runs.
func (t *Tape) Phase() Phase { return t.phase }

// Random returns the place in the sequence of random numbers that the next
// random operation starts from. With SetRandom, a run can be continued.
func (t *Tape) Random() device.Seed { return t.random }

// SetRandom moves to a place in the sequence of random numbers.
func (t *Tape) SetRandom(s device.Seed) { t.random = s }

// Layer returns the module path that allocations are tagged with now.
func (t *Tape) Layer() string { return t.layer }

// SetLayer changes the module path that allocations are tagged with, and
// returns the one before.
func (t *Tape) SetLayer(layer string) (before string) {
	before, t.layer = t.layer, layer
	return before
}

// OnSave registers f to run in the forward phase each time the tape saves memory
// of the tape's device that would otherwise have been temporary. f gets the layer that saved it and
// its requested bytes. A nil f removes the previous one.
func (t *Tape) OnSave(f func(layer string, bytes int64)) { t.onSave = f }

// Recording says whether operations are recorded for a backward pass.
func (t *Tape) Recording() bool { return t.record != nil }

// NoGrad runs f without recording.
func (t *Tape) NoGrad(f func()) {
	before := t.record
	t.record = nil
	defer func() { t.record = before }()
	f()
}

// Run opens the outermost frame, runs f with recording on, and then releases
// everything that f made: values, saved tensors, gradients on their way, casts.
// It does so if f panics, too, and the panic goes on.
func (t *Tape) Run(f func()) {
	if len(t.frames) > 0 {
		panic("autograd: Run within Run")
	}
	t.runs++
	t.frames = append(t.frames, &frame{})
	t.record = newRecord()
	defer t.reset()
	f()
}

// Runs returns how many times Run was called.
func (t *Tape) Runs() int { return t.runs }

// reset releases everything that a run has left.
func (t *Tape) reset() {
	if w := t.unwait(); w != nil {
		w.release()
	}
	t.sweep(0)
	for len(t.frames) > 0 {
		t.closeFrame(nil)
	}
	if t.record != nil {
		t.record.release()
	}
	t.record, t.keeper, t.phase, t.layer, t.device, t.activated = nil, nil, Forward, "", t.home, false
	t.dropFetched(true)
	for i := range t.orders {
		t.orders[i].begin()
	}
	if t.keepCasts == 0 {
		t.DropCasts()
	}
	t.home.Land()
}

// temporary allocates memory that lives until the operation under way ends,
// unless other code takes a handle.
func (t *Tape) temporary(shape tensor.Shape, dtype device.DType, role string) *tensor.Tensor {
	category := trace.Workspace
	if t.phase == Backward {
		category = trace.BackwardTemporary
	}
	return t.hold(tensor.New(t.device, shape, dtype, tensor.Tag{Category: category, Layer: t.layer, Role: role}))
}

// scratch allocates memory without a shape until the operation under way ends.
func (t *Tape) scratch(bytes int64) device.Buffer {
	if bytes == 0 {
		return device.Buffer{}
	}
	return t.hold(tensor.New(t.device, tensor.Shape{int(bytes)}, device.UInt8, t.Workspace("workspace"))).Array().Buffer()
}

// hold releases a handle when the operation under way ends.
func (t *Tape) hold(x *tensor.Tensor) *tensor.Tensor {
	t.temps = append(t.temps, x)
	return x
}

// sweep releases the handles held since there were mark of them.
func (t *Tape) sweep(mark int) {
	for i := len(t.temps) - 1; i >= mark; i-- {
		t.temps[i].Release()
		t.temps[i] = nil
	}
	t.temps = t.temps[:mark]
}

// Workspace is the tag of memory that a layer makes for itself.
func (t *Tape) Workspace(role string) tensor.Tag {
	return tensor.Tag{Category: trace.Workspace, Layer: t.layer, Role: role}
}
