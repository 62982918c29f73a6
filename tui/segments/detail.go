package segments

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// detailLines describes the selection.
func (p *Page) detailLines() []page.Line {
	if b := p.block(); b != nil {
		return p.blockLines(b)
	}
	if s, ok := p.table.Current(); ok {
		return p.segmentLines(s)
	}
	return nil
}

func (p *Page) segmentLines(s *analysis.MapSegment) []page.Line {
	t := p.Scene.Tables()
	kind := s.Class
	if s.Expandable {
		kind += " expandable"
	}
	lines := []page.Line{
		page.Heading("segment " + screen.Address(s.Addr) + "  " + screen.Bytes(s.Size) + "  " + kind),
		page.Pair("in", "pool "+page.PoolText(t, s.Pool)+", stream "+page.StreamText(s.Stream)),
		page.Pair("holds", screen.Bytes(s.Live)+" live in "+screen.Plural(s.LiveCount, "block")+", of it rounding "+
			screen.Bytes(s.Rounding)+"; "+screen.Bytes(s.Free)+" free"),
	}
	if s.Pin != nil {
		lines = append(lines, p.pinLines(s)...)
	}
	lines = append(lines, page.Heading("obtained from the driver at"))
	return append(lines, page.StackPart(p.Scene, s.Stack, p.Frames)...)
}

// pinLines says which small block keeps the segment. The first line says it all,
// because a small screen has room for only one.
func (p *Page) pinLines(s *analysis.MapSegment) []page.Line {
	lines := []page.Line{
		{Label: "pinned by", Text: screen.Bytes(s.Pin.Requested) + " at " + screen.Address(s.Pin.Addr) +
			" by " + p.Scene.Index.StackName(s.Pin.Stack), Style: screen.Warn},
		page.Heading("while it lives the driver cannot have the segment back; it was allocated at"),
	}
	return append(lines, page.StackPart(p.Scene, s.Pin.Stack, p.Frames)...)
}

func (p *Page) blockLines(b *analysis.MapBlock) []page.Line {
	if b.Known && b.State.Live() {
		lines := page.AllocationLines(p.Scene, p.Scene.Index.Lifetimes().AllocationAt(b.Allocation, p.state.At), p.Frames)
		lines[0].Text += ", " + stateText(b.State) + ", rounding " + screen.Bytes(b.Size-b.Requested)
		return lines
	}
	lines := []page.Line{
		page.Heading(stateText(b.State) + " block of " + screen.Bytes(b.Size)),
		page.Pair("address", screen.Address(b.Addr)),
	}
	if b.Stack > 0 {
		lines = append(lines, page.Heading("last used at"))
		lines = append(lines, page.StackPart(p.Scene, b.Stack, p.Frames)...)
	}
	return lines
}
