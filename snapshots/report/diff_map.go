package report

import "github.com/memtop/memtop/snapshots/analysis"

// compareMaps lists segments and blocks that are not the same on both sides.
// Both lists are in order of address.
func (d *DeviceDiff) compareMaps(before, after *analysis.Map) {
	a, b := before.Segments, after.Segments
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Addr < b[0].Addr:
			d.Segments = append(d.Segments, RangeDiff{Vanished, a[0].Addr, a[0].Size, ""})
			d.compareBlocks(a[0].Blocks, nil)
			a = a[1:]
		case len(a) == 0 || b[0].Addr < a[0].Addr:
			d.Segments = append(d.Segments, RangeDiff{Appeared, b[0].Addr, b[0].Size, ""})
			d.compareBlocks(nil, b[0].Blocks)
			b = b[1:]
		default:
			if change, ok := changeOf(a[0].Size, b[0].Size); ok {
				d.Segments = append(d.Segments, RangeDiff{change, b[0].Addr, b[0].Size - a[0].Size, ""})
			}
			d.compareBlocks(a[0].Blocks, b[0].Blocks)
			a, b = a[1:], b[1:]
		}
	}
}

func (d *DeviceDiff) compareBlocks(a, b []analysis.MapBlock) {
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Addr < b[0].Addr:
			d.addBlock(Vanished, &a[0])
			a = a[1:]
		case len(a) == 0 || b[0].Addr < a[0].Addr:
			d.addBlock(Appeared, &b[0])
			b = b[1:]
		default:
			if a[0].Size != b[0].Size || a[0].State != b[0].State || a[0].Requested != b[0].Requested {
				d.addBlock(Vanished, &a[0])
				d.addBlock(Appeared, &b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
}

// addBlock lists a block in use. It leaves out free blocks, which are only the
// rest.
func (d *DeviceDiff) addBlock(change DiffKind, b *analysis.MapBlock) {
	if b.State.Live() {
		d.Blocks = append(d.Blocks, RangeDiff{change, b.Addr, b.Size, b.State.String()})
	}
}
