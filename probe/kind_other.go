//go:build !linux

package probe

// KindOf cannot tell.
func KindOf(int) Kind { return UnknownKind }
