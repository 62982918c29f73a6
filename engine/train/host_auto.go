package train

import (
	"context"
	"maps"
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/nn"
)

// # Layers that pay
//
// Parameters on the host leave the same room on the device in two ways. The device
// fetches them for both passes and sends their gradients back; or the host
// computes, and only what goes into the layer and comes out crosses, with the
// gradients of both. host=auto chooses the layers for which the second way takes
// less time. Layers that share a parameter are chosen together. An operation takes a
// core's time for its multiplications and for the bytes of its operands. It counts in
// full, because a GPU would do it in almost none. So embeddings with more rows than a
// batch has tokens pay, and products pay for a few samples only.

// paying returns the names of the layers that pay.
func (p Plan) paying(ctx context.Context) (names []string, err error) {
	p.Settings.Host, p.Settings.Checkpoint, p.Settings.Offload = Host{}, nn.Policy{}, Offload{}
	parts, err := p.Settings.Parts(p.Batch)
	if err != nil {
		return nil, err
	}
	err = p.unlimited().stage(func(t *Trainer) error {
		c := &hostCosts{meter: dry.NewMeter(), own: make(map[*nn.Layer]float64)}
		defer t.config.Device.Through(func(device.Backend) device.Backend { return c.meter })()
		defer t.ctx.AddHooks(nn.Hooks{Pre: c.enter, Post: c.leave})()
		if _, err := t.Step(ctx); err != nil {
			return err
		}
		for _, set := range sharing(slices.Collect(maps.Keys(c.own))) {
			if set.pays(c.own, len(parts)) {
				names = append(names, set.names()...)
			}
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// hostCosts are the times that layers without parts would take on the host, in
// nanoseconds of a step.
type hostCosts struct {
	meter *dry.Meter
	began float64
	own   map[*nn.Layer]float64
}

// The times of a multiplication and of a byte on one core, and of a byte on the way
// between a device and its host, in nanoseconds. Only their ratios count.
const (
	perProduct = 0.0165
	perByte    = 0.03
	perCrossed = 0.15
)

// spent is how long all operations until now should take.
func (c *hostCosts) spent() (sum float64) {
	for op, done := range c.meter.Ops() {
		if op.Name != dry.Crossing {
			sum += (perProduct*float64(op.Products) + perByte*float64(op.Bytes)) * float64(done)
		}
	}
	return sum
}

func (c *hostCosts) enter(*nn.Ctx, *nn.Layer, []*autograd.Value) { c.began = c.spent() }

func (c *hostCosts) leave(_ *nn.Ctx, l *nn.Layer, in []*autograd.Value, out *autograd.Value) {
	if len(l.Module.Children()) > 0 || len(l.Module.Params()) == 0 {
		return
	}
	cost := passes * (c.spent() - c.began)
	for _, x := range slices.Concat(in, []*autograd.Value{out}) {
		if cost += perCrossed * float64(x.Bytes()); x.NeedsGrad() {
			cost += perCrossed * float64(x.Bytes())
		}
	}
	c.own[l] += cost
}

// sharers are layers that share parameters.
type sharers struct {
	layers []*nn.Layer
	params []*autograd.Variable
}

// sharing groups layers by the parameters that they share.
func sharing(layers []*nn.Layer) (sets []sharers) {
	for _, l := range layers {
		joined := sharers{[]*nn.Layer{l}, l.Module.Params()}
		sets = slices.DeleteFunc(sets, func(s sharers) bool {
			if !slices.ContainsFunc(joined.params, func(v *autograd.Variable) bool { return slices.Contains(s.params, v) }) {
				return false
			}
			joined = sharers{append(joined.layers, s.layers...), append(joined.params, s.params...)}
			return true
		})
		sets = append(sets, joined)
	}
	return sets
}

// pays compares with fetching the parameters twice for every part of a batch, and
// sending their gradients.
func (s sharers) pays(costs map[*nn.Layer]float64, parts int) bool {
	cost, seen, copied := 0.0, make(map[*autograd.Variable]bool), 0.0
	for _, l := range s.layers {
		cost += costs[l]
	}
	for _, v := range s.params {
		if !seen[v] {
			seen[v] = true
			copied += perCrossed * float64(v.Data().Bytes()) * float64(2*parts+1)
		}
	}
	return cost < copied
}

func (s sharers) names() (list []string) {
	for _, l := range s.layers {
		list = append(list, l.Name)
	}
	return list
}
