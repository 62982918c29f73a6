package growing

import "slices"

// Search looks for the largest of some values with which a program fits. It
// assumes that a program that fits with one value also fits with all smaller
// values. Runs with the largest value and with the next one prove the result.
type Search struct {
	values []int64
	fits   int // how many of the values are known to fit: the first so many
	fails  int // the place of the first that is known to fail
}

// NewSearch returns a search among values in ascending order. No result is known
// yet.
func NewSearch(values []int64) *Search { return &Search{values: values, fails: len(values)} }

// Done reports whether the largest value is known, and returns it; found is false if
// the program fits with none.
func (s *Search) Done() (largest int64, found, done bool) {
	if s.fits > 0 {
		largest, found = s.values[s.fits-1], true
	}
	return largest, found, s.fits == s.fails
}

// Say notes whether the program fits with a value.
func (s *Search) Say(value int64, fits bool) {
	at, _ := slices.BinarySearch(s.values, value)
	if fits {
		s.fits = max(s.fits, at+1)
	} else {
		s.fails = min(s.fails, at)
	}
	s.fails = max(s.fails, s.fits) // a program that fits with more than it failed with has no largest
}

// Next returns the value to try next. A law says that at least low and at most
// high of the values fit. Next halves the open values in that range and, if none
// is open there, all open values. It returns no value when the largest is known.
func (s *Search) Next(low, high int) (value int64, more bool) {
	if s.fits == s.fails {
		return 0, false
	}
	first, last := max(low-1, s.fits), min(high, s.fails-1) // if the law is right, the first of these fits and the last does not
	if first > last {
		first, last = s.fits, s.fails-1
	}
	return s.values[first+(last-first)/2], true
}
