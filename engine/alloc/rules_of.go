package alloc

// RulesOf returns the rules of a release.
func RulesOf(minor int) Rules {
	switch {
	case minor < 12:
		return Rules{}
	case minor == 12:
		return Rules{order: byBirth}
	default:
		return Rules{order: bySegment, pools: true}
	}
}
