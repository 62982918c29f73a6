package tuitest

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// run is a training run on a machine.
type run struct {
	*machine
	layers      int
	weight      int64
	stacks      map[string]trace.StackID
	grads       []uint64
	annotations []trace.Annotation
}

// Small returns a trace of a few hundred events: memory from before recording,
// three annotated steps, a side stream, a private pool, a block pending free
// and, last, an event that ran out of memory.
func Small() *trace.Trace {
	r := newRun(6, 4<<20)
	r.hold()
	for step := range 3 {
		r.step(step)
	}
	r.fail()
	return r.trace(0)
}

// Large returns a trace of at least n events of the same kind of run.
func Large(n int) *trace.Trace {
	r := newRun(24, 8<<20)
	r.hold()
	for step := 0; r.log.Len() < n; step++ {
		r.step(step)
	}
	return r.trace(0)
}

// TwoDevices returns a trace in which device 1 has the events.
func TwoDevices() *trace.Trace {
	t := Small()
	first := trace.Device{ID: 0, Final: trace.State{Segments: t.Devices[0].Final.Segments[:1]}}
	second := onDevice(t.Devices[0], 1)
	t.Devices = []trace.Device{first, second}
	t.Annotations = nil
	return t
}

// OneOfTwoRanOut returns a trace in which device 0 has the most events and device
// 1 ran out of memory.
func OneOfTwoRanOut() *trace.Trace {
	t := Small()
	busy, short := t.Devices[0], onDevice(t.Devices[0], 1)
	n := busy.Events.Len()
	busy.Events = busy.Events.Slice(0, n-1)
	short.Events = short.Events.Slice(n/2, n)
	t.Devices = []trace.Device{busy, short}
	return t
}

// onDevice returns what happened as if it had been on another device.
func onDevice(d trace.Device, id int) trace.Device {
	d.ID, d.Final.Segments = id, slices.Clone(d.Final.Segments)
	for i := range d.Final.Segments {
		d.Final.Segments[i].Device = int32(id)
	}
	return d
}

// StateOnly returns a trace that has segments and no events.
func StateOnly() *trace.Trace {
	t := Small()
	t.Devices[0].Events = trace.Events{}
	t.Annotations = nil
	t.Info.NoTraces = true
	return t
}

func newRun(layers int, weight int64) *run {
	return &run{machine: newMachine(), layers: layers, weight: weight, stacks: make(map[string]trace.StackID)}
}

// stack interns a stack, "file:line function" from the innermost frame on.
func (r *run) stack(name string, frames ...trace.Frame) trace.StackID {
	if id, ok := r.stacks[name]; ok {
		return id
	}
	ids := make([]trace.FrameID, len(frames))
	for i, f := range frames {
		ids[i] = r.in.Frame(f)
	}
	id := r.in.Stack(ids)
	r.stacks[name] = id
	return id
}

func (r *run) frame(file string, line int32, name string) trace.Frame {
	return trace.Frame{File: r.in.String(file), Line: line, Name: r.in.String(name)}
}

// at returns a stack of the program with what it called on top.
func (r *run) at(name string, inner ...trace.Frame) trace.StackID {
	outer := []trace.Frame{
		r.frame("/home/ada/project/train.py", 88, "main"), r.frame("/home/ada/project/train.py", 112, "<module>"),
	}
	return r.stack(name, append(inner, outer...)...)
}

func (r *run) forward(layer int) trace.StackID {
	return r.at("forward"+strconv.Itoa(layer%3),
		r.frame("??", 0, "at::_ops::linear::call(at::Tensor const&)"),
		r.frame("/usr/lib/python3/site-packages/torch/nn/modules/linear.py", 125, "forward"),
		r.frame("/home/ada/project/model.py", int32(40+layer%3), "forward"))
}

func (r *run) softmax() trace.StackID {
	return r.at("softmax",
		r.frame("??", 0, "at::_ops::_softmax::call(at::Tensor const&)"),
		r.frame("/usr/lib/python3/site-packages/torch/nn/functional.py", 2140, "softmax"),
		r.frame("/home/ada/project/attention.py", 31, "attend"),
		r.frame("/home/ada/project/model.py", 52, "forward"))
}

func (r *run) backward() trace.StackID {
	return r.stack("backward",
		r.frame("??", 0, "AddmmBackward0::apply(std::vector<at::Tensor>&&)"),
		r.frame("??", 0, "torch::autograd::Engine::evaluate_function()"),
		r.frame("??", 0, "torch::autograd::Engine::thread_main()"))
}

func (r *run) optimizer() trace.StackID {
	return r.at("optimizer", r.frame("/usr/lib/python3/site-packages/torch/optim/adamw.py", 72, "_init_group"))
}

func (r *run) leak() trace.StackID {
	return r.at("leak", r.frame("/home/ada/project/train.py", 71, "log_loss"))
}

func (r *run) graph() trace.StackID {
	return r.at("graph", r.frame("/usr/lib/python3/site-packages/torch/cuda/graphs.py", 198, "capture_begin"))
}

// hold makes what was there before recording began: parameters, and the pool
// of a graph.
func (r *run) hold() {
	parameters := r.at("parameters", r.frame("/usr/lib/python3/site-packages/torch/nn/modules/module.py", 1340, "to"))
	for range r.layers {
		r.alloc(r.weight, parameters, 0, r.in.Pool(trace.Pool{}))
		r.alloc(2048, parameters, 0, r.in.Pool(trace.Pool{}))
	}
	r.alloc(3<<20, r.graph(), 0, r.in.Pool(trace.Pool{1, 0}))
	r.recording = true
}

// step is one step of training.
func (r *run) step(number int) {
	plain, side := r.in.Pool(trace.Pool{}), r.in.Stream(0x5566)
	name := "ProfilerStep#" + strconv.Itoa(number)
	r.mark(name, "START")
	r.mark("forward", "START")
	var kept []uint64
	for layer := range r.layers {
		kept = append(kept, r.alloc(2*r.weight, r.forward(layer), 0, plain), r.alloc(r.weight/2-100, r.softmax(), 0, plain))
		copied := r.alloc(300_000, r.forward(layer), side, plain)
		r.drop(copied, r.forward(layer), layer+1 < r.layers || number%7 != 2)
	}
	r.mark("forward", "END")
	r.alloc(60_000, r.leak(), 0, plain)
	r.mark("backward", "START")
	r.unwind(kept)
	r.mark("backward", "END")
	if number == 0 {
		for range 2 * r.layers {
			r.alloc(r.weight, r.optimizer(), 0, plain)
		}
	}
	for _, addr := range r.grads {
		r.drop(addr, r.optimizer(), true)
	}
	r.grads = r.grads[:0]
	r.mark(name, "END")
	r.now += 500
}

// unwind is the backward pass: gradients come, activations go.
func (r *run) unwind(kept []uint64) {
	for i := len(kept) - 1; i >= 0; i-- {
		if i%2 == 1 {
			r.grads = append(r.grads, r.alloc(r.weight, r.backward(), 0, r.in.Pool(trace.Pool{})))
		}
		r.drop(kept[i], r.backward(), true)
	}
}

// fail runs out of memory in the middle of a forward pass.
func (r *run) fail() {
	for layer := range r.layers {
		r.alloc(2*r.weight, r.forward(layer), 0, r.in.Pool(trace.Pool{}))
	}
	i := r.write(trace.OOM, 0, 512<<20, r.softmax(), 0)
	r.log.At(i).Addr = 96 << 20
}

func (r *run) mark(name, stage string) {
	r.annotations = append(r.annotations, trace.Annotation{Name: r.in.String(name), Stage: r.in.String(stage), Time: r.now + 1})
	r.now += 3
}

func (r *run) trace(device int) *trace.Trace {
	final := r.state()
	for i := range r.annotations {
		r.annotations[i].Device = int32(device)
	}
	tables := r.in.View()
	return &trace.Trace{
		Info: trace.Info{
			Path: "run.pickle", Kind: "snapshot", Container: "pickle", PickleProtocol: 4, Bytes: 1 << 20,
			Writer: "PyTorch 2.10–2.11", TraceLists: 1,
		},
		Tables:      &tables,
		Devices:     []trace.Device{{ID: device, Events: r.log.Events(), Final: final}},
		Annotations: r.annotations,
		Settings: []trace.Setting{
			{Key: "PYTORCH_ALLOC_CONF", Value: "max_split_size_mb:256"},
			{Key: "max_split_size", Value: int64(268435456)},
			{Key: "garbage_collection_threshold", Value: 0.8},
			{Key: "expandable_segments", Value: false},
			{Key: "roundup_power2_divisions", Value: []trace.Setting{{Key: "256", Value: int64(1)}, {Key: "1024", Value: int64(4)}}},
		},
	}
}
