package train

import (
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Data parallel
//
// Each process of a group trains on its part of a batch with all parameters. The
// mean of the processes' gradients equals the gradient of the whole batch in one
// process. Gradients are summed in flat buckets while the backward pass runs, as
// in Li et al. 2020, "PyTorch Distributed". A bucket lies where its gradients do:
// those of layers on the host are summed by the hosts.

// bucketBytes is the most that a bucket holds, unless one gradient is larger:
// PyTorch's default. bucketsAtLeast is about the number of buckets for a small
// model, so that the sum of one bucket runs while the backward pass fills the
// next.
const (
	bucketBytes    = 25 << 20
	bucketsAtLeast = 8
)

// ranksLayer is the layer name of memory that belongs to the exchange between
// processes and to no layer of the model. A bucket has the gradients themselves.
const ranksLayer = "ranks"

// bucketAlign is the number of elements to which gradients in a bucket are aligned.
const bucketAlign = 64

// parallel sums the gradients of a group's processes.
type parallel struct {
	group      collective.Group
	parameters []*autograd.Variable
	buckets    []*bucket // in the order in which they are summed
	of         map[*autograd.Variable]*bucket
	next       int  // the first bucket that is not summed yet
	last       bool // the part under way is the step's last
	losses     []sum
	agreed     *Settings // what all processes use, nil before the first step
	changed    int       // the rank whose settings were changed since, or noRank
	action     Action    // of all processes, when the next step has ended
	ends       bool      // a process is to end
	// Numbers that are exchanged besides gradients. They are fields because a
	// group needs memory that does not move, and a function's stack may move.
	rows []float64
}

// sum is a tensor that is being summed over the processes.
type sum struct {
	of      *tensor.Tensor
	pending collective.Pending
}

// bucket is gradients that are summed at once.
type bucket struct {
	device   *tensor.Device
	places   map[*autograd.Variable]int // the first element of each
	elements int
	// full is how many times a backward pass adds to the bucket's gradients, 0 if
	// that is not known: a layer that runs twice, or under checkpoints, adds
	// twice. Other settings may change that number.
	full, given int
	flat        *tensor.Tensor // nil until a gradient is there
	sum         collective.Pending
}

// newParallel returns nil for a group of one.
func newParallel(g collective.Group, parameters []*autograd.Variable) *parallel {
	if g == nil || g.Size() < 2 {
		return nil
	}
	p := &parallel{group: g, parameters: parameters, changed: noRank, rows: make([]float64, g.Size()*rankWords)}
	for _, v := range parameters {
		v.OnGrad(p.take)
	}
	return p
}

// divide makes the buckets anew. home is where the gradient of a parameter lies.
func (p *parallel) divide(home func(*autograd.Variable) *tensor.Device) {
	if p == nil {
		return
	}
	p.buckets, p.of = nil, make(map[*autograd.Variable]*bucket)
	all := int64(0)
	for _, v := range p.parameters {
		all += v.Data().Bytes()
	}
	most := min(bucketBytes, all/bucketsAtLeast)
	for _, v := range slices.Backward(p.parameters) { // backward comes to the last ones first
		p.place(v, home(v), most)
	}
}

// place gives a parameter its place in a bucket of at most the given bytes, the last
// one of its device.
func (p *parallel) place(v *autograd.Variable, home *tensor.Device, most int64) {
	n := (v.Data().Size() + bucketAlign - 1) / bucketAlign * bucketAlign
	var b *bucket
	for _, other := range p.buckets {
		if other.device == home {
			b = other
		}
	}
	if b == nil || int64(b.elements+n)*v.Data().DType().Size() > most {
		b = &bucket{device: home, places: make(map[*autograd.Variable]int)}
		p.buckets = append(p.buckets, b)
	}
	b.places[v] = b.elements
	b.elements += n
	p.of[v] = b
}

// take is called after each addition to a gradient.
func (p *parallel) take(v *autograd.Variable) {
	if p == nil || !p.last {
		return
	}
	b := p.of[v]
	b.put(v)
	b.given++
	for p.next < len(p.buckets) && p.buckets[p.next].full > 0 && p.buckets[p.next].given == p.buckets[p.next].full {
		p.begin()
	}
}

// put moves a gradient to its place in the bucket. After a second addition it is
// there already.
func (b *bucket) put(v *autograd.Variable) {
	g := v.Grad()
	if b.flat == nil {
		b.flat = tensor.New(b.device, tensor.Shape{b.elements}, g.DType(), tensor.Tag{Category: trace.Gradient, Layer: ranksLayer, Role: "gradient bucket"})
	}
	if g.Storage() == b.flat.Storage() {
		return
	}
	part := b.flat.Narrow(0, b.places[v], g.Size())
	defer part.Release()
	view := part.View(g.Shape()...)
	view.CopyFrom(g)
	v.ReplaceGrad(view)
}

// begin starts the sum of the next bucket.
func (p *parallel) begin() {
	b := p.buckets[p.next]
	p.next++
	if b.flat != nil {
		b.sum = p.where(b.flat).AllReduce(b.flat.Array())
	}
}

// where returns the group for the device of a tensor: offloaded gradients are on
// the host.
func (p *parallel) where(t *tensor.Tensor) collective.Group {
	if t.Device().IsHost() {
		return p.group.Host()
	}
	return p.group
}

// lose starts the sum of the loss of a part of the batch. The result is read when
// the step is done.
func (p *parallel) lose(loss *tensor.Tensor) {
	own := tensor.Clone(loss, tensor.Tag{Category: trace.Communication, Layer: ranksLayer, Role: "sum of losses"})
	p.losses = append(p.losses, sum{own, p.where(own).AllReduce(own.Array())})
}

// finish waits until all gradients and losses are those of the whole batch, and
// returns the losses of its parts.
func (p *parallel) finish() (losses []*tensor.Pending) {
	for p.next < len(p.buckets) {
		p.begin()
	}
	for _, l := range p.losses {
		p.mean(l)
		losses = append(losses, l.of.Fetch())
	}
	for _, b := range p.buckets {
		b.full = b.given
		if b.sum != nil {
			p.mean(sum{b.flat, b.sum})
		}
	}
	return losses
}

// mean turns a sum over the processes into a mean.
func (p *parallel) mean(s sum) {
	tensor.Fail(s.pending.Wait(), "summing over ranks")
	a := s.of.Array()
	s.of.Device().Backend().Scale(a, a, 1/float64(p.group.Size()))
}

// reset ends a step.
func (p *parallel) reset() {
	if p == nil {
		return
	}
	p.next, p.last = 0, false
	for _, b := range p.buckets {
		if b.sum != nil {
			_ = b.sum.Wait() // of a step that failed; else it was waited for
		}
		b.flat.Release()
		b.flat, b.sum, b.given = nil, nil, 0
	}
	for _, l := range p.losses {
		_ = l.pending.Wait()
		l.of.Release()
	}
	p.losses = nil
}
