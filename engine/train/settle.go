package train

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/nn"
)

// settle returns settings that a step can use as they are: they fit the batch and
// the model, and meet their budget, if they have one. A rehearsal keeps the choice
// that was made for a budget. Safe for concurrent use.
func (t *Trainer) settle(s Settings) (Settings, error) {
	if t.config.rehearses != nil {
		s = s.free()
	}
	if err := s.shardable(t.config.Group); err != nil {
		return s, err
	}
	if s.Host != "" && s.Shard >= ShardGradients {
		return s, fmt.Errorf("host=%v with shard=%v: gradients of layers on the host are not divided; shard=optimizer goes with them", s.Host, s.Shard)
	}
	if s.Budget == 0 {
		return s, t.suits(s)
	}
	if err := t.suits(s.asked().free()); err != nil {
		return s, err
	}
	s, err := t.choiceOf(s)
	if err != nil {
		return s, err
	}
	return s, t.suits(s)
}

// suits fails if settings do not fit the batch or name layers that do not exist.
func (t *Trainer) suits(s Settings) error {
	_, err := s.Parts(t.config.Batch)
	return cmp.Or(
		err,
		t.exist("checkpoint layers", s.Checkpoint.Chosen()),
		t.exist("host", slices.DeleteFunc(s.Host.names(), func(name string) bool { return name == lossName })),
		t.exist("offload", slices.Concat(s.Offload.Parameters.names(), s.Offload.Activations.names())),
	)
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
