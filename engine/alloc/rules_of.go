package alloc

// RulesOf returns the rules of a release.
func RulesOf(minor int) Rules {
	r := Rules{last: minor < 8, whole: minor >= 10, pools: minor >= 13}
	switch {
	case minor == 12:
		r.order = byBirth
	case minor > 12:
		r.order = bySegment
	}
	return r
}
