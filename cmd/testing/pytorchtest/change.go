package pytorchtest

import (
	"math/rand/v2"
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// Change returns a copy of v in which every dict has gone through edit. Shared
// values stay shared.
func Change(v any, edit func(items []Item) []Item) any {
	c := &changer{edit: edit, done: map[any]any{}}
	return c.change(v)
}

type changer struct {
	edit func([]Item) []Item
	done map[any]any
}

func (c *changer) change(v any) any {
	switch v := v.(type) {
	case *List:
		if c.done[v] == nil {
			out := &List{}
			c.done[v] = out
			for _, item := range v.Items {
				out.Items = append(out.Items, c.change(item))
			}
		}
		return c.done[v]
	case *Dict:
		if c.done[v] == nil {
			out := &Dict{}
			c.done[v] = out
			for _, item := range c.edit(append([]Item(nil), v.Items...)) {
				out.Items = append(out.Items, Item{item.Key, c.change(item.Value)})
			}
		}
		return c.done[v]
	default:
		return v
	}
}

// Shuffle returns an edit that puts keys in random order.
func Shuffle(seed uint64) func([]Item) []Item {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(items []Item) []Item {
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items
	}
}

// Drop returns an edit that removes one key.
func Drop(key string) func([]Item) []Item {
	return func(items []Item) []Item {
		var kept []Item
		for _, item := range items {
			if item.Key != key {
				kept = append(kept, item)
			}
		}
		return kept
	}
}

// Keys returns every key of every dict in v.
func Keys(v any) map[string]bool {
	keys := map[string]bool{}
	Change(v, func(items []Item) []Item {
		for _, item := range items {
			if key, ok := item.Key.(string); ok {
				keys[key] = true
			}
		}
		return items
	})
	return keys
}

// Equal returns the differences of two values as Python compares them, nil when they
// are equal: the order of keys and sharing do not matter.
func Equal(a, b any) error {
	if d := (difference{plain(map[any]any{}, a), plain(map[any]any{}, b)}); !reflect.DeepEqual(d[0], d[1]) {
		return d
	}
	return nil
}

// difference is of two values, of which cmp would compare what is shared again and again.
type difference [2]any

func (d difference) Error() string { return cmp.Diff(d[0], d[1]) }

// plain brings values to one form; done has the lists and dicts that have it. PyTorch's
// C++ pickler casts unsigned integers to signed ones, so the two are the same.
func plain(done map[any]any, v any) any {
	switch v := v.(type) {
	case *List:
		if done[v] == nil {
			done[v] = plain(done, Tuple(v.Items)).([]any)[1:]
		}
		return done[v]
	case Tuple:
		items := []any{"a tuple"}
		for _, item := range v {
			items = append(items, plain(done, item))
		}
		return items
	case *Dict:
		if done[v] == nil {
			dict := map[any]any{}
			for _, item := range v.Items {
				dict[plain(done, item.Key)] = plain(done, item.Value)
			}
			done[v] = dict
		}
		return done[v]
	case int64:
		return uint64(v)
	case Fresh:
		return string(v)
	default:
		return v
	}
}
