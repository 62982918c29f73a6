package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/memtop/memtop/engine/nn"
)

// settle returns settings that a step can use as they are: they fit the batch and
// the model, and meet their budget or plan of checkpoints, if they have one. A
// rehearsal keeps the choice that was made for a budget. Safe for concurrent use.
func (t *Trainer) settle(s Settings) (Settings, error) {
	if t.config.rehearses != nil {
		s = s.free()
	}
	if err := s.shardable(t.config.Group); err != nil {
		return s, err
	}
	if s.Host != (Host{}) && s.Shard >= ShardGradients {
		return s, fmt.Errorf("host=%v with shard=%v: gradients of layers on the host are not divided; shard=optimizer goes with them", s.Host, s.Shard)
	}
	if s.Budget == 0 {
		return t.complete(s)
	}
	if _, err := t.complete(s.asked().free()); err != nil && !errors.As(err, new(*planError)) {
		return s, err
	}
	s, err := t.choiceOf(s)
	if err != nil {
		return s, err
	}
	return t.complete(s)
}

// complete is settle for settings as they are.
func (t *Trainer) complete(s Settings) (Settings, error) {
	if _, err := s.Parts(t.config.Batch); err != nil {
		return s, err
	}
	if s.Host.auto && (!s.Host.chosen || t.config.rehearses == nil) { // a rehearsal keeps the choice that it was given
		names, err := t.hosts.of(t, s, "host=auto", Plan.paying)
		if err != nil {
			return s, err
		}
		s.Host = Host{Layers(strings.Join(names, "+")), true, true}
	}
	if _, ok := s.Checkpoint.Plan(); ok {
		names, err := t.planned.of(t, s, "a plan of checkpoints", Plan.checkpoints)
		s.Checkpoint = s.Checkpoint.Choose(names...)
		return s, err
	}
	if err := t.exist("checkpoint layers", s.Checkpoint.Chosen()); err != nil {
		return s, err
	}
	if err := t.exist("host", slices.DeleteFunc(s.Host.layers.names(), func(name string) bool { return name == lossName })); err != nil {
		return s, err
	}
	return s, t.exist("offload", slices.Concat(s.Offload.Parameters.names(), s.Offload.Activations.names()))
}

// exist fails if a setting names a layer that does not exist.
func (t *Trainer) exist(setting string, names []string) error {
	for _, name := range names {
		if !t.layers[name] {
			return fmt.Errorf("%s: there is no layer %q, but %s …", setting, name, strings.Join(t.someLayers(), ", "))
		}
	}
	return nil
}

// someLayers returns some of the model's layers, as examples.
func (t *Trainer) someLayers() []string {
	all := slices.Sorted(maps.Keys(t.layers))
	return all[:min(len(all), 3)]
}

// layersOf returns the paths of all layers below a model.
func layersOf(model nn.Module) map[string]bool {
	paths := make(map[string]bool)
	nn.Walk(model, func(path string, _ nn.Module) { paths[path] = true })
	delete(paths, "") // the model itself
	return paths
}

// chosen is the last choice of layers that rehearsals have found. It is made again
// if anything that it depends on changes.
type chosen struct {
	mu    sync.Mutex // held while one is made
	key   string     // what it depends on
	names []string
}

// of returns the layers that find chooses for the settings. what names the choice in
// errors.
func (p *chosen) of(t *Trainer, s Settings, what string, find func(Plan, context.Context) ([]string, error)) ([]string, error) {
	if t.config.Build == nil {
		return nil, fmt.Errorf("%s: %w", what, ErrNoRehearsal)
	}
	plan := t.plan()
	plan.Settings = s
	key := fmt.Sprint(plan.Spec, s.memory(), len(plan.times) > 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if key == p.key {
		return p.names, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), predictionTime)
	defer cancel()
	names, err := find(plan, ctx)
	if err == nil {
		p.key, p.names = key, names
	}
	return names, err
}

// times are those of the layers' forward passes, by name.
type times struct {
	atomic.Pointer[map[string]int64]
}

// known returns the times, nil when none were measured.
func (k *times) known() map[string]int64 {
	if m := k.Load(); m != nil {
		return *m
	}
	return nil
}

// timedStep is the step whose times plans use: the first step that needs no new
// memory.
const timedStep = 2

// timed notes the times of the last step, and makes the plan of checkpoints again
// from them. The times mean nothing on a device that works while the host goes
// on, or in a rehearsal. All processes of a group use the times of the first,
// because they must find the same plan.
func (t *Trainer) timed() error {
	if t.step-t.began != timedStep || t.config.rehearses != nil {
		return nil
	}
	layers := t.Layers()
	list := make([]float64, 1+len(layers)) // whether the others say anything, and the others
	if !t.waits {
		list[0] = 1
	}
	for i, l := range layers {
		list[1+i] = float64(l.ForwardNS)
	}
	if p := t.parallel; p != nil {
		p.times = list // where it stays
		if err := p.group.Host().Broadcast(words(list), 0).Wait(); err != nil {
			return err
		}
	}
	if list[0] == 0 {
		return nil
	}
	m := make(map[string]int64)
	for i, l := range layers {
		m[l.Name] = int64(list[1+i])
	}
	t.times.Store(&m)
	old := t.next()
	if s, err := t.settle(*old); err == nil {
		t.replace(old, &s)
	}
	return nil
}
