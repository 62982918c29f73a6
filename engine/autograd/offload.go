package autograd

import (
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Saved tensors on the host
//
// The backward pass needs a saved tensor only when it comes to its rule. Until
// then the tensor may wait on the host. The tape copies it there when it is
// saved, once for all operations that save it, and brings it back when the first
// of their rules is next.

// OffloadSaved moves tensors that layers save in the forward pass to the device's
// host until the backward pass. The rule chooses the layers by their module path;
// nil means none. It holds for operations recorded from now on.
func (t *Tape) OffloadSaved(rule func(layer string) bool) { t.offload = rule }

// away is a saved storage that waits on the host.
type away struct {
	host  *tensor.Tensor // nil once it has returned
	back  *tensor.Tensor // on the device, nil before
	users int            // by saved tensors
}

// awayKey is a storage as it was when it was saved.
type awayKey struct {
	storage *tensor.Storage
	version int
}

// send returns the place on the host of a tensor that is being saved, nil if the
// tensor stays.
func (t *Tape) send(x *tensor.Tensor) *away {
	storage := x.Storage()
	label := storage.Label()
	if t.offload == nil || t.phase != Forward || x.Device() != t.home || label.Category != trace.Activation || !t.offload(label.Layer) {
		return nil
	}
	key := awayKey{storage, storage.Version()}
	a := t.record.away[key]
	if a == nil {
		t.Settle()
		whole := x.Whole()
		defer whole.Release()
		a = &away{host: whole.To(t.home.Host())}
		t.record.away[key] = a
	}
	a.users++
	return a
}

// fetch begins to bring the storage back, unless it has returned.
func (a *away) fetch(t *Tape) {
	if a.back == nil {
		a.back = a.host.To(t.home)
		a.host.Release()
		a.host = nil
	}
}

// release ends one use.
func (a *away) release() {
	if a.users--; a.users == 0 {
		a.host.Release()
		a.back.Release()
	}
}

// ahead is how many operations fetchNext looks at.
const ahead = 8

// fetchNext begins to bring back what the next rule that reads anything will
// read, so that it is on its way while the present one runs.
func (t *Tape) fetchNext(nodes []*node) {
	for i := len(nodes) - 1; i >= max(0, len(nodes)-ahead); i-- {
		fetched := false
		for _, s := range nodes[i].saved {
			switch {
			case s.away != nil:
				s.away.fetch(t)
			case s.data.Device() != s.read:
				t.fetch(s.data, s.read)
			default:
				continue
			}
			fetched = true
		}
		if fetched {
			return
		}
	}
}
