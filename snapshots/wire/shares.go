package wire

import (
	"github.com/memtop/memtop/snapshots/trace"
)

// # What a stream may take
//
// A stream lasts as long as its program, and its data grows all the time: events,
// steps, names, changes, gauges. One number bounds all of it: the memory that a
// [Stream] may take. Everything that grows has a share of that. When a share is
// used up, the stream drops the oldest data in it; but of names it does not
// accept new ones, see [trace.Interner], because long-lived data uses the oldest
// names. The blocks that the program holds at one moment do not count, since they
// do not grow with time; a running program may have [liveBlocks].

// liveMemory is the bound for a running program, in bytes: with a screen and the
// garbage collector's overhead, a viewer stays under 150 MB.
const liveMemory = 48 << 20

// liveBlocks is how many blocks a running program may hold. Each takes about 700
// bytes with the data that a screen derives from it, and twice that before a
// garbage collection.
const liveBlocks = 1 << 18

// The bytes of one item of each kind, with derived data and copies.
const (
	eventBytes  = 64
	gaugeBytes  = 1 << 10 // with what a program has of the machine
	changeBytes = 1 << 10
	stepBytes   = 640 // without its layers
	layerBytes  = 160 // with its texts
)

// shares is how much of each is kept.
type shares struct {
	events, gauges, changes int
	steps, tables           int64 // bytes
}

// sharesOf divides memory into shares; 0 means the bound for a running program.
func sharesOf(memory int64) shares {
	if memory <= 0 {
		memory = liveMemory
	}
	return shares{
		events:  int(min(memory/2/eventBytes, trace.MaxEvents)),
		steps:   memory / 8,
		tables:  memory / 4,
		gauges:  int(memory / 32 / gaugeBytes),
		changes: int(memory / 32 / changeBytes),
	}
}

// The bytes of a stream's data about one moment, with derived data: a block of a
// state, and a message of JSON, in which each brace may begin a layer, in a list
// that is copied as it grows.
const (
	blockBytes = 512
	braceBytes = 512
	commaBytes = 64
)

// fit sets the memory bound of the stream, which may grow. The data of one moment
// must fit into it, and also the next state; else the error is a *[CorruptError]
// about memory.
func (s *Stream) fit(memory int64) error {
	if memory > s.memory+s.memory/8 {
		more := sharesOf(memory)
		s.in.Extend(more.tables - s.shares.tables)
		s.follower.Keep(more.events)
		s.shares, s.memory, s.steps.room = more, memory, more.steps
	}
	left := memory - s.in.Memory() - s.follower.Memory() - int64(s.follower.Kept())*eventBytes -
		s.steps.layers*layerBytes - int64(len(s.steps.all))*stepBytes
	s.decoder.limits = Limits{
		Frame: int(min(left/4, frameLimit)), Tables: s.shares.tables, Blocks: int(min(left/blockBytes, blocksLimit)), Message: left, Snapshot: left,
	}.filled()
	if left <= 0 {
		return &CorruptError{Offset: s.decoder.offset, Memory: true, Reason: "it needs too much memory"}
	}
	return nil
}

// MemoryOf returns the memory bound with which a stream keeps that many events.
func MemoryOf(events int) int64 { return 2 * eventBytes * int64(events) }
