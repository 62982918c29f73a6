package pytorch

import "github.com/memtop/memtop/snapshots/trace"

// block makes a piece of a segment. An address that the writer left out (2.0
// and before) is filled in when the segment is known.
func (m *machine) block(f *fields) (value, error) {
	err := m.charge(blockBytes)
	if err != nil {
		return value{}, err
	}
	var b trace.Block
	var ok bool
	if b.Addr, ok = m.address(f, nameAddress); ok {
		b.Given |= trace.GaveAddr
	}
	if b.Size, ok = m.number(f, nameSize); ok {
		b.Given |= trace.GaveSize
	}
	if b.Requested, ok = m.number(f, nameRequestedSize); ok {
		b.Given |= trace.GaveRequested
	}
	if f.has(nameState) {
		b.Given |= trace.GaveState
	}
	b.State, b.StateText = m.state(f)
	b.Stack = m.frameStack(f)
	if f.have&noteFields != 0 {
		b.Note = m.note(f, trace.Alloc, 0)
	}
	if f.has(nameHistory) {
		b.Given |= trace.GaveHistory
		if b.History, err = m.history(f); err != nil {
			return value{}, err
		}
	}
	m.snapshot.blockKeys |= f.have
	return value{tag: tagBlock, id: m.blocks.add(b)}, nil
}

// state returns a block's state, and its text unless the state implies it.
func (m *machine) state(f *fields) (trace.BlockState, trace.StringID) {
	id := m.string(f, nameState)
	switch nameOf(id) {
	case nameActiveAllocated:
		return trace.Allocated, 0
	case nameActivePending:
		return trace.PendingFree, 0
	case nameActiveAwaiting:
		return trace.PendingFree, id
	case nameInactive:
		return trace.Inactive, 0
	default:
		return trace.UnknownState, id
	}
}

// tenant makes an entry of an old block's history.
func (m *machine) tenant(f *fields) (value, error) {
	addr, _ := m.address(f, nameAddr)
	size, _ := m.number(f, nameRealSize)
	var err error
	if m.tenants, err = reserve(m, m.tenants, 1, kept); err != nil {
		return value{}, err
	}
	m.tenants = append(m.tenants, trace.Tenant{
		Addr: addr, Requested: size, Stack: m.frameStack(f),
	})
	return value{tag: tagTenant, id: uint32(len(m.tenants) - 1)}, nil
}

// history returns a block's earlier tenants.
func (m *machine) history(f *fields) ([]trace.Tenant, error) {
	n := m.listLen(f, nameHistory)
	if err := m.charge(int64(n) * tenantBytes); err != nil {
		return nil, err
	}
	tenants := make([]trace.Tenant, 0, n)
	m.each(f, nameHistory, tagTenant, func(id uint32) {
		tenants = append(tenants, m.tenants[id])
	})
	return tenants, nil
}

// listLen returns how many items a list field has. Callers that copy the items
// must charge their memory first: many records may refer to one long list.
func (m *machine) listLen(f *fields, k name) int {
	if f.have&(1<<k) == 0 {
		return 0
	}
	if v := m.resolve(f.value[k]); v.tag == tagList {
		return m.lists.at(v.id).len()
	}
	return 0
}

// each calls visit with the number of every record in a list field.
func (m *machine) each(f *fields, k name, of tag, visit func(id uint32)) {
	if f.have&(1<<k) == 0 {
		return
	}
	v := m.resolve(f.value[k])
	if v.tag != tagList {
		if v.tag != tagNone {
			m.odd++
		}
		return
	}
	if v.id == 0 {
		return
	}
	for i := range m.lists.at(v.id).len() {
		if item := m.lists.at(v.id).at(i); item.tag == of {
			visit(item.id)
		} else {
			m.odd++
		}
	}
}

// blocksOf returns a segment's blocks. A block without an address gets the one
// that follows from its place. Blocks that were read one after the other are not
// copied.
func (m *machine) blocksOf(f *fields, addr uint64) ([]trace.Block, error) {
	blocks, err := m.listedBlocks(f)
	for i := range blocks {
		b := &blocks[i]
		if b.Given&trace.GaveAddr == 0 {
			b.Addr = addr
		}
		addr = b.Addr + uint64(b.Size)
	}
	return blocks, err
}

func (m *machine) listedBlocks(f *fields) ([]trace.Block, error) {
	n := m.listLen(f, nameBlocks)
	if l := m.listOf(f, nameBlocks); l.items == nil && l.of == tagBlock {
		if run := m.blocks.run(l.first, n); run != nil {
			return run, nil
		}
	}
	if err := m.charge(int64(n) * blockBytes); err != nil {
		return nil, err
	}
	blocks := make([]trace.Block, 0, n)
	m.each(f, nameBlocks, tagBlock, func(id uint32) { blocks = append(blocks, *m.blocks.at(id)) })
	return blocks, nil
}

// listOf returns the list in a field, an empty list when there is none.
func (m *machine) listOf(f *fields, k name) *list {
	if f.have&(1<<k) == 0 {
		return m.lists.at(0)
	}
	return m.lists.at(m.resolve(f.value[k]).listID())
}

// blockTable holds blocks in chunks that are never moved.
type blockTable struct {
	chunks [][]trace.Block
	claims []int // per chunk, where the next segment's blocks may begin
}

const blockChunk = 1 << 10

// add stores b and returns its number.
func (t *blockTable) add(b trace.Block) uint32 {
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last]) == blockChunk {
		t.chunks = append(t.chunks, make([]trace.Block, 0, blockChunk))
		t.claims = append(t.claims, 0)
		last++
	}
	t.chunks[last] = append(t.chunks[last], b)
	return uint32(last*blockChunk + len(t.chunks[last]) - 1)
}

func (t *blockTable) at(id uint32) *trace.Block { return &t.chunks[id/blockChunk][id%blockChunk] }

// run returns n blocks from number first on without copying, for one segment
// only; nil when they are not in one chunk or another segment has them.
func (t *blockTable) run(first uint32, n int) []trace.Block {
	chunk, from := int(first/blockChunk), int(first%blockChunk)
	if chunk >= len(t.chunks) || from+n > len(t.chunks[chunk]) || from < t.claims[chunk] {
		return nil
	}
	t.claims[chunk] = from + n
	return t.chunks[chunk][from : from+n : from+n]
}

// annotation makes one end of a range that the program marked.
func (m *machine) annotation(f *fields) (value, error) {
	err := m.charge(annotationBytes)
	if err != nil {
		return value{}, err
	}
	if m.annotations, err = reserve(m, m.annotations, 1, kept); err != nil {
		return value{}, err
	}
	device, _ := m.device(f)
	time, _ := m.number(f, nameTime)
	m.annotations = append(m.annotations, trace.Annotation{
		Name: m.string(f, nameName), Stage: m.string(f, nameStage), Device: device, Time: time,
	})
	return value{tag: tagAnnotation, id: uint32(len(m.annotations) - 1)}, nil
}
