package page

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// mix is the memory that one cell of a bar covers, in bytes.
type mix struct {
	live, pending, free int64
	largest             int64 // of the live blocks in the cell
	block               *analysis.MapBlock
}

// DrawBar draws a segment's blocks into w cells. A cell with live memory in it
// never looks free: the block that pins a segment is often smaller than a cell.
func DrawBar(scene *Scene, c screen.Canvas, x, y, w int, s *analysis.MapSegment) {
	if w <= 0 || s.Size <= 0 {
		return
	}
	for i, m := range mixes(s, w) {
		r, style := m.look(scene, c.Theme().Letters())
		c.Set(x+i, y, r, style)
	}
}

// mixes splits the segment's blocks over w cells. A file may give a block any
// size: a negative size counts as 0, and a block that is larger than its segment
// ends with it.
func mixes(s *analysis.MapSegment, w int) []mix {
	cells := make([]mix, w)
	scale := float64(w) / float64(s.Size)
	at := int64(0)
	for b := range s.Blocks {
		block := &s.Blocks[b]
		from, to := at, at+min(max(block.Size, 0), s.Size-at)
		at = to
		first := min(int(float64(from)*scale), w-1)
		last := min(int(float64(to)*scale), w-1)
		for i := first; i <= last; i++ {
			low, high := max(from, int64(float64(i)/scale)), min(to, int64(float64(i+1)/scale))
			if high > low || first == last {
				cells[i].add(block, max(high-low, 1))
			}
		}
	}
	return cells
}

func (m *mix) add(b *analysis.MapBlock, bytes int64) {
	switch b.State {
	case trace.Allocated:
		m.live += bytes
		if bytes > m.largest {
			m.largest, m.block = bytes, b
		}
	case trace.PendingFree:
		m.pending += bytes
	default:
		m.free += bytes
	}
}

// look returns how to draw a cell. Its shading shows how much is live, and a
// letter shows memory that waits to be freed. Its colour shows the category of
// the memory; without colours a letter does.
func (m *mix) look(scene *Scene, letters bool) (rune, screen.Style) {
	total := m.live + m.pending + m.free
	switch {
	case m.pending > 0 && m.pending >= m.live:
		return 'p', screen.Style{Fg: screen.Pending, Attr: screen.Bold}
	case m.live == 0:
		return '·', screen.Dim
	}
	role, letter := blockUse(scene, m.block)
	style := screen.Style{Fg: role}
	switch {
	case letters && m.live*2 >= total:
		return letter, style
	case m.live*20 >= total*19:
		return '█', style
	case m.live*2 >= total:
		return '▓', style
	default:
		return '▒', style
	}
}

// blockUse returns the colour and the letter of a block's category.
func blockUse(scene *Scene, b *analysis.MapBlock) (screen.Role, rune) {
	if !b.Known {
		return screen.Held, HeldLetter
	}
	a := scene.Index.Lifetimes().Allocation(b.Allocation)
	category, _ := scene.Index.Category(a)
	if a.Open < 0 && a.FreeStack {
		return screen.Held, HeldLetter
	}
	return screen.Band(category.Place()), Letter(category)
}
