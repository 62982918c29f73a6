package pytorch

import "reflect"

// tableChunk is how many items a table grows by.
const tableChunk = 1 << 8

// table holds items that are never moved: a list that grows would copy them many
// times over, and scatter garbage. The zero value is empty.
type table[T any] struct {
	chunks [][]T
}

func (t *table[T]) len() int {
	last := len(t.chunks) - 1
	if last < 0 {
		return 0
	}
	return last*tableChunk + len(t.chunks[last])
}

func (t *table[T]) at(id uint32) *T { return &t.chunks[id/tableChunk][id%tableChunk] }

// add stores an item and returns its number. Its memory is counted w times.
func (t *table[T]) add(m *machine, item T, w weight) (uint32, error) {
	n := t.len()
	if n%tableChunk == 0 {
		if err := m.charge(tableChunk * int64(reflect.TypeFor[T]().Size()) * int64(w)); err != nil {
			return 0, err
		}
		t.chunks = append(t.chunks, make([]T, 0, tableChunk))
	}
	last := &t.chunks[n/tableChunk]
	*last = append(*last, item)
	return uint32(n), nil
}
