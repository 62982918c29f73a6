// Package grouped adds things up by key. It is for sums over blocks and lines; what
// the sums mean is said by those who make them.
package grouped

// By has a value for each key, in the order in which the keys came first. Its zero
// value is ready; one goroutine may use it.
type By[Key comparable, Value any] struct {
	at   map[Key]int
	List []Value
}

// Of returns the value of a key, the zero value of a new one. It is good until the
// next call.
func (b *By[Key, Value]) Of(key Key) *Value {
	k, ok := b.at[key]
	if !ok {
		if b.at == nil {
			b.at = make(map[Key]int)
		}
		k = len(b.List)
		b.at[key], b.List = k, append(b.List, *new(Value))
	}
	return &b.List[k]
}
