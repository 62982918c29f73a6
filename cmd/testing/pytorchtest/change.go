package pytorchtest

import (
	"fmt"
	"math/rand/v2"
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

// Equal returns the first difference of two values as Python compares them, nil
// when they are equal: the order of keys and sharing do not matter.
func Equal(a, b any) error {
	c := &comparison{same: map[[2]any]bool{}}
	return c.equal(a, b, "value")
}

type comparison struct{ same map[[2]any]bool }

func (c *comparison) equal(a, b any, path string) error {
	switch a := a.(type) {
	case *List:
		if b, ok := b.(*List); ok {
			return c.items(a, b, a.Items, b.Items, path)
		}
	case Tuple:
		if b, ok := b.(Tuple); ok {
			return c.items(nil, nil, a, b, path)
		}
	case *Dict:
		if b, ok := b.(*Dict); ok {
			return c.dicts(a, b, path)
		}
	default:
		if plain(a) == plain(b) {
			return nil
		}
	}
	return fmt.Errorf("%s: %v (%T) against %v (%T)", path, a, a, b, b)
}

func (c *comparison) known(a, b any) bool {
	if a == nil {
		return false
	}
	known := c.same[[2]any{a, b}]
	c.same[[2]any{a, b}] = true
	return known
}

func (c *comparison) items(x, y any, a, b []any, path string) error {
	if c.known(x, y) {
		return nil
	}
	if len(a) != len(b) {
		return fmt.Errorf("%s: %d items against %d", path, len(a), len(b))
	}
	for i := range a {
		if err := c.equal(a[i], b[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) dicts(a, b *Dict, path string) error {
	if c.known(a, b) {
		return nil
	}
	values := map[any]any{}
	for _, item := range b.Items {
		values[item.Key] = item.Value
	}
	if len(a.Items) != len(values) {
		return fmt.Errorf("%s: %d keys against %d", path, len(a.Items), len(values))
	}
	for _, item := range a.Items {
		value, ok := values[item.Key]
		if !ok {
			return fmt.Errorf("%s: only one has the key %v", path, item.Key)
		}
		if err := c.equal(item.Value, value, fmt.Sprintf("%s[%q]", path, item.Key)); err != nil {
			return err
		}
	}
	return nil
}

// plain brings numbers and strings to one form. PyTorch's C++ pickler casts
// unsigned integers to signed ones, so the two are the same.
func plain(v any) string {
	switch v := v.(type) {
	case int64:
		return fmt.Sprintf("integer %d", uint64(v))
	case uint64:
		return fmt.Sprintf("integer %d", v)
	case Fresh:
		return fmt.Sprintf("text %q", string(v))
	case string:
		return fmt.Sprintf("text %q", v)
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
}
