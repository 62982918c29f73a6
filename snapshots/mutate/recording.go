package mutate

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"

	"github.com/memtop/memtop/snapshots/wire"
)

// recording is a document of frames. Their checksums are always right.
type recording struct {
	frames []frame
}

type frame struct {
	kind    wire.Type // header for what begins a stream
	payload []byte
}

// header is no frame's type.
const header wire.Type = 0

const headerBytes = 8

// newRecording returns what a probe would have sent of a trace.
func newRecording(r *rand.Rand) document { return &recording{split(session(r))} }

// split takes the frames of a stream apart.
func split(stream []byte) []frame {
	frames := []frame{{header, stream[:headerBytes]}}
	for rest := stream[headerBytes:]; len(rest) > 0; {
		n, used := binary.Uvarint(rest[1:])
		begin, end := 1+used, 1+used+int(n)
		frames = append(frames, frame{wire.Type(rest[0]), rest[begin:end:end]})
		rest = rest[end+crc32.Size:]
	}
	return frames
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c *recording) encode() []byte {
	var out []byte
	for _, f := range c.frames {
		if f.kind == header {
			out = append(out, f.payload...)
			continue
		}
		begin := len(out)
		out = binary.AppendUvarint(append(out, byte(f.kind)), uint64(len(f.payload)))
		out = append(out, f.payload...)
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[begin:], castagnoli))
	}
	return out
}

// change changes a frame's payload, or which frames there are.
func (c *recording) change(r *rand.Rand) string {
	if len(c.frames) == 0 {
		return ""
	}
	at := r.IntN(len(c.frames))
	for range 2 { // a table that does not fit ends the reading
		if k := c.frames[at].kind; k > wire.StringTable && k <= wire.NoteTable {
			at = r.IntN(len(c.frames))
		}
	}
	f := &c.frames[at]
	switch r.IntN(12) {
	case 0:
		c.frames = slices.Delete(c.frames, at, at+1)
		return "drop a frame"
	case 1:
		c.frames = slices.Insert(c.frames, r.IntN(len(c.frames)), slices.Repeat([]frame{*f}, 1<<r.IntN(6))...)
		return "repeat a frame"
	case 2:
		other := &c.frames[r.IntN(len(c.frames))]
		*f, *other = *other, *f
		return "swap frames"
	case 3:
		c.frames = slices.Insert(c.frames, at, choose(r, split(session(r))))
		return "graft a frame"
	case 4:
		c.frames = append(c.frames, split(session(r))...)
		return "append a stream"
	case 5:
		f.kind = wire.Type(1 + r.IntN(20))
		return "change a frame's type"
	default:
		return f.change(r)
	}
}

// change changes the payload by what it is made of.
func (f *frame) change(r *rand.Rand) string {
	name := ""
	switch {
	case f.kind >= wire.HelloFrame:
		t := &tree{cyclic: true, write: writeJSON}
		root, err := readJSON(f.payload)
		if err != nil {
			break // an earlier change has made it something else
		}
		t.root = root
		name = t.change(r)
		f.payload = t.encode()
	case f.kind == wire.StringTable:
		f.payload = changeEntry(r, f.payload)
		name = "text"
	case f.kind != header && r.IntN(4) > 0:
		f.payload = changeNumber(r, f.payload)
		name = "number"
	default:
		f.payload, name = damageBytes(r, f.payload)
	}
	if name == "" {
		return ""
	}
	return kindName(f.kind) + ": " + name
}

func kindName(t wire.Type) string {
	if t == header {
		return "header"
	}
	return t.String()
}

// changeEntry replaces an entry of the table of strings by a hostile one.
func changeEntry(r *rand.Rand, payload []byte) []byte {
	var starts []int
	for at := 0; at < len(payload); {
		n, used := binary.Uvarint(payload[at:])
		if used <= 0 || n > uint64(len(payload)-at-used) {
			break
		}
		starts = append(starts, at)
		at += used + int(n)
	}
	if starts == nil {
		return payload
	}
	at := choose(r, starts)
	n, used := binary.Uvarint(payload[at:])
	hostile := text(r)
	entry := append(binary.AppendUvarint(nil, uint64(len(hostile))), hostile...)
	return slices.Concat(payload[:at], entry, payload[at+used+int(n):])
}

// changeNumber replaces a number by an extreme one. Bytes that are none, such
// as flags, count as numbers too.
func changeNumber(r *rand.Rand, payload []byte) []byte {
	var starts []int
	for at := 0; at < len(payload); {
		_, used := binary.Uvarint(payload[at:])
		if used <= 0 {
			break
		}
		starts = append(starts, at)
		at += used
	}
	if starts == nil {
		return payload
	}
	at := choose(r, starts)
	_, used := binary.Uvarint(payload[at:])
	n := choose(r, append(lengths, 2, 3, 5, 40, 200, r.Uint64()))
	return slices.Concat(payload[:at], binary.AppendUvarint(nil, n), bytes.Clone(payload[at+used:]))
}
