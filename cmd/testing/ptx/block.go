package ptx

import (
	"fmt"
	"strings"
)

// block is the threads that share memory.
type block struct {
	launch  *launch
	number  uint32 // in the grid
	index   [3]uint32
	threads int
	warps   []*warp
	shared  []byte
	cells   []cell
	epoch   uint32    // barriers that all have passed
	knows   knowledge // of other blocks
	learnt  []learnt  // by single threads since the last barrier
}

// special returns what a special register holds for a thread of the block.
func (b *block) special(name string, thread uint32) uint64 {
	l := b.launch
	kind, axis, _ := strings.Cut(name, ".")
	at := strings.Index("xyz", axis)
	switch kind {
	case "%tid":
		return uint64([3]uint32{thread % l.Block[0], thread / l.Block[0] % l.Block[1], thread / l.Block[0] / l.Block[1]}[at])
	case "%ntid":
		return uint64(l.Block[at])
	case "%ctaid":
		return uint64(b.index[at])
	case "%nctaid":
		return uint64(l.Grid[at])
	}
	panic(fmt.Sprintf("ptx: no register %s", name))
}

// step lets every warp run until it must wait, and those at the barrier pass it when all
// are there. It reports whether the block has ended.
func (b *block) step() bool {
	for at := range b.warps {
		if b.launch.falling {
			at = len(b.warps) - 1 - at
		}
		w := b.warps[at]
		if w.status == waiting {
			w.status = running
		}
		w.run()
	}
	var there *warp
	ended := true
	for _, w := range b.warps {
		switch w.status {
		case finished:
			continue
		case atBarrier:
			if there == nil {
				there = w
			}
			if there.next != w.next {
				w.fault(&w.program.code[w.next-1], 0, "waits at another barrier than warp %d, which is at line %d", there.first/width, there.program.code[there.next-1].written.line)
			}
		default:
			return false
		}
		ended = false
	}
	for _, w := range b.warps {
		if w.status == atBarrier {
			w.status = running
		}
	}
	b.pass()
	return ended
}
