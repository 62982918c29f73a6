package collective

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// Text returns in every process the text that one of them gives, without zeros at its
// end. Of what is longer than most bytes the rest is cut off.
func Text(g Group, text []byte, from, most int) ([]byte, error) {
	sent := make([]byte, most)
	var pinned runtime.Pinner // a group needs memory that stays where it is
	pinned.Pin(&sent[0])
	defer pinned.Unpin()
	copy(sent, text)
	err := g.Host().Broadcast(device.Array{Addr: uint64(uintptr(unsafe.Pointer(&sent[0]))), Len: most, DType: device.UInt8}, from).Wait()
	return bytes.TrimRight(sent, "\x00"), err
}
