package cpu

import "slices"

// shares numbers the parts of a list of operands one after the other, so that
// one job does them all.
type shares struct {
	ends []int // where the parts of each operand end
}

// begin forgets the list before.
func (s *shares) begin() { s.ends = s.ends[:0] }

// add is for the next operand, of so many parts.
func (s *shares) add(parts int) { s.ends = append(s.ends, s.total()+parts) }

// total is the number of all parts.
func (s *shares) total() int {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// find returns the operand that a part is of, and the part's number in it.
func (s *shares) find(part int) (operand, own int) {
	operand, _ = slices.BinarySearch(s.ends, part+1)
	if operand > 0 {
		part -= s.ends[operand-1]
	}
	return operand, part
}
