package wire

import (
	"bytes"

	"github.com/memtop/memtop/snapshots/trace"
)

// # What a stream may take
//
// A stream goes on for as long as its program does, and so does what it sends:
// events, steps, names, changes, looks at the devices. One number bounds all of
// it, the memory that a [Stream] may take, and everything that grows has a share
// of that. When a share is used up the oldest in it is let go, but of names the
// newest are not taken up, see [trace.Interner]: the oldest are those of what
// stays. What the program holds at one moment, its blocks, is not counted, since it
// does not grow with time; of a running program there may be [liveBlocks].

// liveMemory is how many bytes are kept of a running program: with a screen on it
// and the garbage collector's room a viewer stays under 150 MB.
const liveMemory = 48 << 20

// liveBlocks is how many blocks a running program may hold: with what a screen works out
// from them each takes some 700 bytes, and twice that until the collector comes.
const liveBlocks = 1 << 18

// Bytes of one of each, with what is worked out from it and in how many copies
// it is held.
const (
	eventBytes  = 64
	gaugeBytes  = 256
	changeBytes = 1 << 10
	stepBytes   = 640 // but for its layers
	layerBytes  = 160 // with what its texts take
)

// shares is how much of each is kept.
type shares struct {
	events, gauges, changes int
	steps, tables           int64 // bytes
}

// sharesOf divides memory, of which 0 is what is kept of a running program.
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

// What a stream holds of one moment takes so many bytes, with what is worked out
// from it: a block of a state that is read, and what a message of JSON says, in
// which each brace may begin a layer, in a list that is moved as it grows.
const (
	blockBytes = 512
	braceBytes = 512
	commaBytes = 64
)

// messageMemory returns about how many bytes what a text of JSON says takes at most.
func messageMemory(text []byte) int64 {
	braces, commas := bytes.Count(text, []byte{'{'}), bytes.Count(text, []byte{','})
	return int64(braceBytes*braces + commaBytes*commas + 2*len(text))
}

// fit lets the stream take so many bytes, which may be more than before. What the
// program holds at one moment must have a place in it, what comes next too; else
// the error is a *[CorruptError] about memory.
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

// MemoryOf returns the memory that lets a stream keep so many events.
func MemoryOf(events int) int64 { return 2 * eventBytes * int64(events) }
