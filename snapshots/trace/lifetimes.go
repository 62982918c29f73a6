package trace

import (
	"math"
	"sort"
)

// AllocationID names an allocation. An id of 0 and up is the index of the event
// that made the allocation. An id of -1 and down ([HeldID]) is an allocation that
// was held before recording began.
type AllocationID int32

// HeldID returns the id of entry k of [Lifetimes.Held].
func HeldID(k int) AllocationID { return AllocationID(^k) }

// Held returns the entry of [Lifetimes.Held], and whether it is one.
func (id AllocationID) Held() (int, bool) { return int(^id), id < 0 }

// Never is the closing event of an allocation that is still open.
const Never = math.MaxInt32

// Held is an allocation from before the first event.
type Held struct {
	Addr   uint64
	Size   int64 // requested bytes
	Stack  StackID
	Note   NoteID
	Close  int32 // the event that ended it, or Never
	Stream StreamID
	// FreeStack says that Stack is where the allocation was freed. Where it was
	// made is not recorded.
	FreeStack bool
}

// Lifetimes replays a device's events forward and knows when every allocation
// began and ended. It reads each event once; when more events have come, pass the
// longer run to Advance. It is owned by one goroutine; once it is no longer
// advanced, any goroutine may read it.
//
// The rules are those of a replay by address. An alloc opens its address; a
// free_completed or free closes it. If a free closes an address that is not open,
// its allocation was held before recording began. An alloc over an open address
// ends the older allocation.
type Lifetimes struct {
	Held   []Held
	events Events
	peer   [][]int32 // per event: an alloc's end, a closing event's allocation
	open   addressTable
	marks  []mark
	marked int // marks that are filled in
	since  int // events since the last mark
	// asked holds, by address, the free_requested events whose free_completed did
	// not follow at once and has not come yet. pending holds, by allocation, the
	// free_requested events whose free_completed came later.
	asked   map[uint64]int32
	pending map[AllocationID]int32
	retags  map[AllocationID][]int32 // what each allocation was retagged by, ascending; nil for none
	request int32                    // the last event if it was a free_requested, else -1
	// displaced holds, by alloc event, the allocation that was open at its
	// address. lost holds, by allocation, the first event that called it lost.
	displaced map[int32]AllocationID
	lost      map[AllocationID]int32
	begun     bool // the base is known
}

// mark is a checkpoint: the allocations that were open before event at, the
// oldest first. Code walks live allocations in this order because it then reads
// memory forward. There is one when the events since the last are more than twice as
// many as the live allocations, so that they never take more memory than the events.
type mark struct {
	at    int
	alive []AllocationID
}

// NewLifetimes returns the lifetimes of no events yet.
func NewLifetimes() *Lifetimes {
	return &Lifetimes{asked: make(map[uint64]int32), pending: make(map[AllocationID]int32), request: -1}
}

// Events returns the events replayed so far.
func (l *Lifetimes) Events() Events { return l.events }

// Reused returns how many allocs opened an address that was still open. This
// never happens in a whole trace that was not edited.
func (l *Lifetimes) Reused() int { return len(l.displaced) }

// Begin takes the state before the first event, if the device has it. Call it
// before the first Advance. Finish then finds nothing more.
func (l *Lifetimes) Begin(base *State) {
	l.begun = true
	l.Hold(l.unopened(base))
}

// Advance replays the events that are new since the last call.
func (l *Lifetimes) Advance(events Events) {
	l.Replay(events)
	l.Mark()
}

// Replay and Mark are the two parts of Advance. After Replay it is known which event ends
// each allocation. Mark changes no answer of that, so they may be read meanwhile.
func (l *Lifetimes) Replay(events Events) {
	from := l.events.Len()
	l.events = events
	for i, e := range events.Range(from, events.Len()) {
		l.step(int32(i), e)
	}
}

func (l *Lifetimes) step(i int32, e *Event) {
	if i&chunkMask == 0 {
		l.peer = append(l.peer, make([]int32, chunkSize))
	}
	if l.since++; l.since >= chunkSize && l.since >= 2*l.open.count {
		l.since = 0
		l.marks = append(l.marks, mark{at: int(i), alive: make([]AllocationID, 0, l.open.count)})
	}
	switch {
	case e.Kind == Alloc:
		l.openAt(i, e)
	case e.Kind.Closes():
		l.closeAt(i, e)
	case e.Kind.Retags():
		l.retagAt(i, e)
	case e.Kind == Lost:
		l.lostAt(i, e)
	case e.Kind == FreeRequested:
		l.setPeer(i, 0)
		l.flushRequest()
		l.request = i
		return
	}
	l.flushRequest()
}

// Mark fills in the checkpoints that Replay has chosen.
func (l *Lifetimes) Mark() {
	for ; l.marked < len(l.marks); l.marked++ {
		m := &l.marks[l.marked]
		l.aliveMade(m.at-1, func(id AllocationID) bool {
			m.alive = append(m.alive, id)
			return true
		})
	}
}

func (l *Lifetimes) openAt(i int32, e *Event) {
	l.setPeer(i, Never)
	if old, ok := l.open.put(e.Addr, AllocationID(i)); ok {
		if l.displaced == nil {
			l.displaced = make(map[int32]AllocationID)
		}
		l.displaced[i] = old
		l.end(old, i)
	}
}

func (l *Lifetimes) closeAt(i int32, e *Event) {
	id, ok := l.open.remove(e.Addr)
	if !ok {
		id = HeldID(len(l.Held))
		l.Held = append(l.Held, Held{
			Addr: e.Addr, Size: e.Size, Stack: e.Stack, Note: e.Note, Stream: e.Stream,
			FreeStack: true,
		})
	}
	l.setPeer(i, int32(id))
	l.end(id, i)
}

// end notes that event i ended the allocation. It keeps the free_requested unless
// that came right before event i.
func (l *Lifetimes) end(id AllocationID, i int32) {
	if k, held := id.Held(); held {
		l.Held[k].Close = i
	} else {
		l.setPeer(int32(id), i)
	}
	addr := l.events.At(int(i)).Addr
	if l.request >= 0 && l.events.At(int(l.request)).Addr == addr {
		l.request = -1 // the usual pair: requested and completed at once
		return
	}
	if len(l.asked) > 0 {
		if request, ok := l.asked[addr]; ok {
			l.pending[id] = request
			delete(l.asked, addr)
		}
	}
}

// flushRequest files a free_requested that was not completed at once.
func (l *Lifetimes) flushRequest() {
	if l.request < 0 {
		return
	}
	l.asked[l.events.At(int(l.request)).Addr] = l.request
	l.request = -1
}

// Finish adds the live blocks of the final state that no event mentioned: they
// too were held from before. Call it after the last Advance if the trace's final
// state is known. It may be called again after another Advance.
func (l *Lifetimes) Finish(final *State) { l.Hold(l.Unmentioned(final)) }

// Unmentioned and Hold are the two parts of Finish. Unmentioned finds the blocks
// that Hold then adds. Unmentioned changes no answer of the lifetimes, so they
// may be read before Hold.
func (l *Lifetimes) Unmentioned(final *State) []Held {
	if l.begun {
		return nil
	}
	return l.unopened(final)
}

// Hold adds the allocations that Unmentioned found.
func (l *Lifetimes) Hold(found []Held) { l.Held = append(l.Held, found...) }

// unopened returns the live blocks of a state whose addresses are not open, and
// opens them.
func (l *Lifetimes) unopened(state *State) []Held {
	live := 0
	for range state.Live() {
		live++
	}
	more := max(0, live-l.open.count) // if all open allocations live on, as they should
	l.open.reserve(more)
	found := make([]Held, 0, more)
	for segment, block := range state.Live() {
		if l.open.has(block.Addr) {
			continue
		}
		l.open.put(block.Addr, HeldID(len(l.Held)+len(found)))
		found = append(found, Held{
			Addr: block.Addr, Size: block.LiveRequested(), Stack: block.LiveStack(),
			Note: block.Note, Stream: segment.Stream, Close: Never,
		})
	}
	return found
}

func (l *Lifetimes) setPeer(i, value int32) { l.peer[i>>chunkShift][i&chunkMask] = value }

// Closed returns the event that ended the alloc at event i, or Never.
func (l *Lifetimes) Closed(i int) int { return int(l.peer[i>>chunkShift][i&chunkMask]) }

// Allocation is one lifetime.
type Allocation struct {
	ID        AllocationID
	Addr      uint64
	Size      int64 // requested bytes
	Stack     StackID
	Note      NoteID
	Stream    StreamID
	Open      int  // the event that made it, -1 when held from before
	Close     int  // the event that ended it, or Never
	FreeStack bool // Stack is where it was freed
}

// Allocation returns the allocation with that id.
func (l *Lifetimes) Allocation(id AllocationID) Allocation {
	if k, held := id.Held(); held {
		h := &l.Held[k]
		return Allocation{id, h.Addr, h.Size, h.Stack, h.Note, h.Stream, -1, int(h.Close), h.FreeStack}
	}
	e := l.events.At(int(id))
	return Allocation{id, e.Addr, e.Size, e.Stack, e.Note, e.Stream, int(id), l.Closed(int(id)), false}
}

// FreeRequested returns the event that asked to free the allocation, or its
// closing event if the two came together, or Never. Between the two events the
// allocation is pending free.
func (l *Lifetimes) FreeRequested(id AllocationID) int {
	a := l.Allocation(id)
	return l.RequestedFree(&a)
}

// RequestedFree is FreeRequested for an allocation that the caller has already
// looked up.
func (l *Lifetimes) RequestedFree(a *Allocation) int {
	if i, ok := l.pending[a.ID]; ok {
		return int(i)
	}
	if a.Close == Never {
		if i, ok := l.asked[a.Addr]; ok && int(i) > a.Open {
			return int(i)
		}
		// The last event may be the first half of a pair. Whether the other half
		// follows at once is not known yet.
		if i := l.request; i >= 0 && l.events.At(int(i)).Addr == a.Addr && int(i) > a.Open {
			return int(i)
		}
	}
	return a.Close
}

// Alive calls yield for every allocation that is alive right after event at; −1
// is before the first event. Held allocations come first, then the others in the
// order in which they were made. Alive stops when yield returns false. It replays
// the events from the nearest checkpoint.
func (l *Lifetimes) Alive(at int, yield func(AllocationID) bool) {
	for k := range l.Held {
		if int(l.Held[k].Close) > at && !yield(HeldID(k)) {
			return
		}
	}
	l.aliveMade(at, yield)
}

// aliveMade is Alive without the held ones.
func (l *Lifetimes) aliveMade(at int, yield func(AllocationID) bool) {
	from := 0
	if m := l.nearest(at); m != nil {
		from = m.at
		for _, id := range m.alive {
			if l.Closed(int(id)) > at && !yield(id) {
				return
			}
		}
	}
	for end := min(at+1, l.events.Len()); from < end; {
		peers := l.peer[from>>chunkShift][from&chunkMask:]
		peers = peers[:min(len(peers), end-from)]
		for i, peer := range peers {
			if int(peer) > at && !yield(AllocationID(from+i)) { // only the peer of an alloc lies ahead
				return
			}
		}
		from += len(peers)
	}
}

// nearest returns the last checkpoint not after event at.
func (l *Lifetimes) nearest(at int) *mark {
	n := sort.Search(l.marked, func(k int) bool { return l.marks[k].at > at })
	if n == 0 {
		return nil
	}
	return &l.marks[n-1]
}
