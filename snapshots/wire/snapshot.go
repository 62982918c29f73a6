package wire

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Snapshots and tags
//
// A program in a slow language sends PyTorch's own snapshot, pickled, in parts,
// and tags for the purpose of its live memory. The code that uses them is in
// merge.go.

const (
	partBytes     = 4 << 20  // of a snapshot in one frame
	snapshotLimit = 64 << 20 // of all parts of a snapshot
	partsLimit    = 1 << 10  // how many parts there are
	tagLeast      = 2        // least bytes of a tag
)

// Snapshot sends PyTorch's own snapshot: the result of
// torch.cuda.memory._snapshot, pickled by pickle.dumps.
func (e *Encoder) Snapshot(pickle []byte) {
	if len(pickle) > snapshotLimit {
		e.fail(fmt.Errorf("a snapshot of %d bytes, more than %d", len(pickle), snapshotLimit))
		return
	}
	for left := max(0, len(pickle)-1) / partBytes; left >= 0; left-- {
		part := pickle[:min(len(pickle), partBytes)]
		pickle = pickle[len(part):]
		e.frame()
		e.number(uint64(left))
		e.buf = append(e.buf, part...)
		e.end(SnapshotFrame)
	}
}

// Tags sends the purpose of a device's current live memory.
func (e *Encoder) Tags(device int, tags []trace.Tag) {
	e.frame()
	e.signed(int64(device))
	e.number(uint64(len(tags)))
	for _, t := range tags {
		e.number(t.Addr)
		e.number(uint64(t.Note))
	}
	e.end(TagsFrame)
}

// snapshotParts are the received parts of a snapshot.
type snapshotParts struct {
	parts [][]byte
	bytes int
	left  int // that must still arrive
}

// snapshot reads a part of a snapshot. With the last part it returns all of them.
func (d *Decoder) snapshot(f *Frame, c *cursor) error {
	left := c.number()
	p := &d.parts
	switch {
	case left >= partsLimit:
		return fmt.Errorf("%d parts of it follow, and it may have %d", left, partsLimit)
	case len(p.parts) > 0 && int(left) != p.left-1:
		return fmt.Errorf("it says that %d parts follow, and the one before said %d", left, p.left)
	case p.bytes+len(c.b) > snapshotLimit:
		return fmt.Errorf("its parts have more than %d bytes", snapshotLimit)
	case int64(p.bytes+len(c.b)) > d.limits.Snapshot:
		return tooMuch("its parts have more than %d bytes", d.limits.Snapshot)
	}
	p.parts, p.bytes, p.left = append(p.parts, append([]byte(nil), c.b...)), p.bytes+len(c.b), int(left)
	if f.Left = p.left; f.Left == 0 {
		f.Parts, *p = p.parts, snapshotParts{}
	}
	return nil
}

func (d *Decoder) tags(f *Frame, c *cursor) error {
	var err error
	if f.Device, err = c.device(); err != nil {
		return err
	}
	n := c.count(tagLeast)
	if n > d.limits.Blocks {
		return tooMuch("it has more than %d tags", d.limits.Blocks)
	}
	f.Tags = make([]trace.Tag, n)
	for i := range f.Tags {
		f.Tags[i] = trace.Tag{Addr: c.number(), Note: lookup(c, &d.ids.notes, c.number())}
	}
	return nil
}
