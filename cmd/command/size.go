package command

import "github.com/memtop/memtop/snapshots/quantity"

// SizeUnits says what units mean, for help.
const SizeUnits = "In a SIZE, 4GiB and 4G are 4 × 2^30 bytes, and 4GB is 4 × 10^9."

// Size is a flag's number of bytes, see [quantity.ParseBytes].
type Size int64

// String returns the size in a form that Set accepts.
func (s *Size) String() string { return quantity.Exact(int64(*s)) }

// Set reads a size.
func (s *Size) Set(text string) error {
	n, err := quantity.ParseBytes(text)
	if err == nil {
		*s = Size(n)
	}
	return err
}

// Type names the flag's type in help.
func (s *Size) Type() string { return "SIZE" }
