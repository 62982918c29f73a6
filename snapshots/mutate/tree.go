package mutate

import (
	"fmt"
	"math/rand/v2"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
)

// tree is a document of Python values.
type tree struct {
	root   any
	write  func(any) []byte
	cyclic bool // write bears containers that contain themselves
}

func (t *tree) encode() []byte { return t.write(t.root) }

// change does one of treeChanges. Most need something to do it to, so several
// are tried.
func (t *tree) change(r *rand.Rand) string {
	for range 8 {
		c := choose(r, treeChanges)
		if c.do(t, r) {
			return c.name
		}
	}
	return ""
}

// place is where a value stands.
type place struct {
	value any
	set   func(any)
}

// survey is everything in a tree, by the key that it stands under: so a key
// that occurs once is changed as often as one that every event has.
type survey struct {
	places map[string][]place
	keys   []string // of places, as found
	dicts  []*pytorchtest.Dict
	lists  []*pytorchtest.List
	seen   map[any]bool
}

func (t *tree) survey() *survey {
	s := &survey{places: map[string][]place{}, seen: map[any]bool{}}
	s.add("", place{t.root, func(v any) { t.root = v }})
	return s
}

func (s *survey) add(key string, p place) {
	if s.places[key] == nil {
		s.keys = append(s.keys, key)
	}
	s.places[key] = append(s.places[key], p)
	switch v := p.value.(type) {
	case *pytorchtest.List:
		if !s.seen[v] {
			s.seen[v] = true
			s.lists = append(s.lists, v)
			s.items(key, v.Items)
		}
	case *pytorchtest.Dict:
		if !s.seen[v] {
			s.seen[v] = true
			s.dicts = append(s.dicts, v)
			for i, item := range v.Items {
				s.add(fmt.Sprint(item.Key), place{item.Value, func(x any) { v.Items[i].Value = x }})
			}
		}
	case pytorchtest.Tuple:
		s.items(key, v)
	}
}

func (s *survey) items(key string, items []any) {
	for i, item := range items {
		s.add(key+"[]", place{item, func(x any) { items[i] = x }})
	}
}

// find returns the places under some key whose values fit, nil if there are
// none.
func (s *survey) find(r *rand.Rand, fits func(any) bool) []place {
	for _, at := range r.Perm(len(s.keys)) {
		var found []place
		for _, p := range s.places[s.keys[at]] {
			if fits(p.value) {
				found = append(found, p)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// dict returns a dict that fits, nil if there is none.
func (s *survey) dict(r *rand.Rand, fits func(*pytorchtest.Dict) bool) *pytorchtest.Dict {
	for _, at := range r.Perm(len(s.dicts)) {
		if fits(s.dicts[at]) {
			return s.dicts[at]
		}
	}
	return nil
}

// list returns a list of at least so many items, nil if there is none.
func (s *survey) list(r *rand.Rand, least int) *pytorchtest.List {
	for _, at := range r.Perm(len(s.lists)) {
		if len(s.lists[at].Items) >= least {
			return s.lists[at]
		}
	}
	return nil
}

func anything(any) bool { return true }

func isText(v any) bool {
	switch v.(type) {
	case string, pytorchtest.Fresh:
		return true
	default:
		return false
	}
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, uint64, float64, bool:
		return true
	default:
		return false
	}
}
