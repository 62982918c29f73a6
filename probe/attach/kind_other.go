//go:build !linux

package attach

// KindOf cannot be implemented here.
func KindOf(int) Kind { return UnknownKind }
