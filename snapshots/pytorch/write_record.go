package pytorch

import (
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/memtop/memtop/snapshots/pickle"
)

func (p *pickler) block(b *trace.Block) {
	p.op(pickle.EmptyDict, pickle.Mark)
	if b.Given&trace.GaveAddr != 0 {
		p.key(nameAddress)
		p.unsigned(b.Addr)
	}
	p.number(nameSize, b.Given&trace.GaveSize != 0, b.Size)
	p.number(nameRequestedSize, b.Given&trace.GaveRequested != 0, b.Requested)
	if b.Given&trace.GaveState != 0 {
		p.key(nameState)
		if b.StateText != 0 {
			p.string(b.StateText)
		} else {
			p.state(b.State)
		}
	}
	p.stackField(b.Stack)
	if b.Given&trace.GaveHistory != 0 {
		p.key(nameHistory)
		p.list(len(b.History), func(i int) { p.tenant(&b.History[i]) })
	}
	p.stringField(nameCategory, p.t.Tables.Notes[b.Note].Category)
	p.note(b.Note)
	p.forward(b.Note)
	p.op(pickle.SetItems)
}

func (p *pickler) state(s trace.BlockState) {
	switch s {
	case trace.Allocated:
		p.key(nameActiveAllocated)
	case trace.PendingFree:
		p.key(nameActivePending)
	case trace.Inactive:
		p.key(nameInactive)
	default:
		p.text(s.String())
	}
}

func (p *pickler) tenant(h *trace.Tenant) {
	p.op(pickle.EmptyDict, pickle.Mark)
	p.key(nameAddr)
	p.unsigned(h.Addr)
	p.number(nameRealSize, true, h.Requested)
	p.stackField(h.Stack)
	p.op(pickle.SetItems)
}

// event writes an entry. shown is the note whose category PyTorch's viewer shows.
func (p *pickler) event(e *trace.Event, shown trace.NoteID) {
	p.op(pickle.EmptyDict, pickle.Mark)
	p.key(nameAction)
	if action := p.t.Tables.Notes[e.Note].Action; e.Kind == trace.Other && action != 0 {
		p.string(action)
	} else {
		p.known(&p.kinds[e.Kind], e.Kind.String())
	}
	if e.Absent&trace.NoAddr == 0 {
		if e.Kind == trace.OOM {
			p.key(nameDeviceFree)
		} else {
			p.key(nameAddr)
		}
		p.unsigned(e.Addr)
	}
	p.number(nameSize, e.Absent&trace.NoSize == 0, e.Size)
	if e.Absent&trace.NoStream == 0 {
		p.key(nameStream)
		p.unsigned(p.t.Tables.Streams[e.Stream])
	}
	p.number(nameTime, e.Absent&trace.NoTime == 0, e.Time)
	p.category(e.Note, shown)
	p.note(e.Note)
	p.stackField(e.Stack)
	p.forward(e.Note)
	p.op(pickle.SetItems)
}

// note writes the note of an entry or block, except its action, category and
// forward stack.
func (p *pickler) note(id trace.NoteID) {
	if id == 0 {
		return
	}
	n := p.t.Tables.Notes[id]
	for i, text := range n.Texts() {
		if k := noteKeys[i]; k != nameAction && k != nameCategory {
			p.stringField(k, *text)
		}
		if noteKeys[i] == nameUserMetadata { // where PyTorch has them
			p.stringField(nameInternalMetadata, n.Internal)
			p.poolField(namePoolID, n.Pool)
		}
	}
}

// forward writes the stack of the forward pass that a note has.
func (p *pickler) forward(id trace.NoteID) {
	list := p.t.Tables.Notes[id].Forward
	if list == 0 {
		return
	}
	p.key(nameForwardFrames)
	if p.recall(p.lists[list]) {
		return
	}
	lines := p.t.Tables.Lists[list]
	p.op(pickle.EmptyList)
	p.lists[list] = p.memoize()
	p.batches(len(lines), func(i int) { p.string(lines[i]) })
}

func (p *pickler) annotation(a *trace.Annotation) {
	p.op(pickle.EmptyDict, pickle.Mark)
	p.stringField(nameName, a.Name)
	p.stringField(nameStage, a.Stage)
	p.number(nameDevice, true, int64(a.Device))
	p.number(nameTime, true, a.Time)
	p.op(pickle.SetItems)
}

// stackField writes a stack under its key unless it is absent. An empty stack is
// always a new list, since readers may not expect a reference to one.
func (p *pickler) stackField(id trace.StackID) {
	if id == 0 {
		return
	}
	p.key(nameFrames)
	if p.recall(p.stacks[id]) {
		return
	}
	frames := p.t.Tables.Stack(id)
	p.op(pickle.EmptyList)
	if len(frames) == 0 {
		return
	}
	p.stacks[id] = p.memoize()
	p.batches(len(frames), func(i int) { p.frame(frames[i]) })
}

func (p *pickler) frame(id trace.FrameID) {
	if p.recall(p.frames[id]) {
		return
	}
	f := &p.t.Tables.Frames[id]
	p.op(pickle.EmptyDict)
	p.frames[id] = p.memoize()
	p.op(pickle.Mark)
	p.stringField(nameName, f.Name)
	p.stringField(nameFilename, f.File)
	p.line(f.Line)
	if fx, ok := p.t.Tables.FrameFX[id]; ok {
		x := &p.t.Tables.FX[fx]
		p.stringField(nameFXOp, x.Op)
		p.stringField(nameFXNode, x.NodeName)
		p.stringField(nameFXTarget, x.Target)
		p.stringField(nameFXTrace, x.OriginalTrace)
		p.stringField(nameFXInfo, x.Info)
	}
	p.op(pickle.SetItems)
}

// line writes a frame's line. PyTorch's lines are unsigned, in 64 bits: −1, which
// means unknown, is written as 2^64 − 1.
func (p *pickler) line(line int32) {
	p.key(nameLine)
	p.unsigned(uint64(int64(line)))
}

func (p *pickler) number(k name, given bool, n int64) {
	if given {
		p.key(k)
		p.integer(n)
	}
}

func (p *pickler) stringField(k name, id trace.StringID) {
	if id != 0 {
		p.key(k)
		p.string(id)
	}
}

func (p *pickler) poolField(k name, id trace.PoolID) {
	if id == 0 {
		return
	}
	p.key(k)
	if p.recall(p.pools[id]) {
		return
	}
	pool := p.t.Tables.Pools[id]
	p.integer(pool[0])
	p.integer(pool[1])
	p.op(pickle.Tuple2)
	p.pools[id] = p.memoize()
}
