//go:build !linux

package attach

// KindOf cannot tell.
func KindOf(int) Kind { return UnknownKind }
