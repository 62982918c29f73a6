package wire

import "github.com/memtop/memtop/snapshots/trace"

// The least bytes of a block and an earlier tenant.
const (
	blockLeast  = 2
	tenantLeast = 3
)

// base reads a state. Its layout is in "States" in encode_state.go. It does not
// check whether the state makes sense.
func (d *Decoder) base(f *Frame, c *cursor) error {
	var err error
	if f.Device, err = c.device(); err != nil {
		return err
	}
	f.First, f.Missed = c.signed(), c.signed()
	f.Reason = string(c.bytes())
	d.blocks = 0
	n, err := d.counted(c, segmentLeast)
	if err != nil {
		return err
	}
	f.State.Segments = make([]trace.Segment, n)
	for i := range f.State.Segments {
		s := &f.State.Segments[i]
		d.segmentFields(s, c)
		if n, err = d.counted(c, blockLeast); err != nil {
			return err
		}
		s.Blocks = make([]trace.Block, n)
		last := trace.Block{Addr: s.Addr}
		for k := range s.Blocks {
			if err := d.block(&s.Blocks[k], &last, c); err != nil {
				return err
			}
			last = s.Blocks[k]
		}
	}
	return nil
}

// counted reads how many segments, blocks or tenants follow.
func (d *Decoder) counted(c *cursor, least int) (int, error) {
	n := c.count(least)
	if d.blocks += n; d.blocks > d.limits.Blocks {
		return 0, tooMuch("it has more than %d blocks", d.limits.Blocks)
	}
	return n, nil
}

func (d *Decoder) block(b, last *trace.Block, c *cursor) error {
	head := c.byte()
	b.State = trace.BlockState(head & stateMask)
	b.Addr, b.Given = last.Addr+uint64(last.Size), last.Given
	if head&apart != 0 {
		b.Addr = c.number()
	}
	b.Size = c.signed()
	if head&otherGiven != 0 {
		b.Given = trace.Given(c.number())
	}
	if head&hasRequested != 0 {
		b.Requested = c.signed()
	}
	if head&hasOrigin != 0 {
		b.Stack = lookup(c, &d.ids.stacks, c.number())
		b.Note = lookup(c, &d.ids.notes, c.number())
	}
	if head&hasText != 0 {
		b.StateText = lookup(c, &d.ids.strings, c.number())
	}
	if head&hasHistory != 0 {
		return d.history(b, c)
	}
	return nil
}

func (d *Decoder) history(b *trace.Block, c *cursor) error {
	n, err := d.counted(c, tenantLeast)
	if err != nil {
		return err
	}
	b.History = make([]trace.Tenant, n)
	for i := range b.History {
		b.History[i] = trace.Tenant{
			Addr: c.number(), Requested: c.signed(), Stack: lookup(c, &d.ids.stacks, c.number()),
		}
	}
	return nil
}
