//go:build !amd64

package alloc

const counts = false

func counter() uint64 { return 0 }
