// Package ledger divides a whole into rows that add up to it: each takes what it
// says, and at most what is left. The last one is the rest, which nobody explains.
package ledger

// Row is a part of the whole, of one of the ledger's kinds.
type Row[Kind any] struct {
	Kind   Kind   `json:"-"`
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Detail string `json:"detail,omitempty"` // what else is known of it
}

// Take takes a size of what is left, as far as there is any, and returns it.
func Take(left *int64, size int64) int64 {
	size = max(0, min(size, *left))
	*left -= size
	return size
}
