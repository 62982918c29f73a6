package pytorch

import (
	"github.com/memtop/memtop/snapshots/pickle"
	"github.com/memtop/memtop/snapshots/trace"
)

// segment makes a segment with its blocks.
func (m *machine) segment(f *fields) (value, error) {
	err := m.charge(segmentBytes)
	if err != nil {
		return value{}, err
	}
	m.snapshot.segmentKeys |= f.have
	var s trace.Segment
	give := func(bit trace.Given, ok bool) {
		if ok {
			s.Given |= bit
		}
	}
	var ok bool
	s.Addr, ok = m.address(f, nameAddress)
	give(trace.GaveAddr, ok)
	s.Size, ok = m.number(f, nameTotalSize)
	give(trace.GaveSize, ok)
	s.Allocated, ok = m.number(f, nameAllocatedSize)
	give(trace.GaveAllocated, ok)
	s.Active, ok = m.number(f, nameActiveSize)
	give(trace.GaveActive, ok)
	s.Requested, ok = m.number(f, nameRequestedSize)
	give(trace.GaveRequested, ok)
	s.Stream, ok = m.stream(f)
	give(trace.GaveStream, ok)
	s.Device, ok = m.device(f)
	give(trace.GaveDevice, ok)
	s.Type = m.string(f, nameSegmentType)
	s.Pool = m.pool(f, nameSegmentPoolID)
	expandable, ok := m.number(f, nameIsExpandable)
	give(trace.GaveExpandable, ok)
	s.Expandable = expandable != 0
	s.Stack = m.frameStack(f)
	s.Blocks, err = m.blocksOf(f, s.Addr)
	if err != nil {
		return value{}, err
	}
	id, err := m.segments.add(m, s, kept)
	return value{tag: tagSegment, id: id}, err
}

// segment writes a segment with its blocks.
func (p *pickler) segment(s *trace.Segment) {
	p.op(pickle.EmptyDict, pickle.Mark)
	p.number(nameDevice, s.Given&trace.GaveDevice != 0, int64(s.Device))
	if s.Given&trace.GaveAddr != 0 {
		p.key(nameAddress)
		p.unsigned(s.Addr)
	}
	p.number(nameTotalSize, s.Given&trace.GaveSize != 0, s.Size)
	p.number(nameAllocatedSize, s.Given&trace.GaveAllocated != 0, s.Allocated)
	p.number(nameActiveSize, s.Given&trace.GaveActive != 0, s.Active)
	p.number(nameRequestedSize, s.Given&trace.GaveRequested != 0, s.Requested)
	if s.Given&trace.GaveStream != 0 {
		p.key(nameStream)
		p.unsigned(p.t.Tables.Streams[s.Stream])
	}
	p.stringField(nameSegmentType, s.Type)
	p.poolField(nameSegmentPoolID, s.Pool)
	if s.Given&trace.GaveExpandable != 0 {
		p.key(nameIsExpandable)
		p.boolean(s.Expandable)
	}
	p.stackField(s.Stack)
	p.key(nameBlocks)
	p.list(len(s.Blocks), func(i int) { p.block(&s.Blocks[i]) })
	p.op(pickle.SetItems)
}
