package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// What random bytes do not make of a file in the time that there is: other opcodes of a
// pickle, other frames of a recording, whose checksums fit, other numbers of a text, and
// lengths that a file declares and does not have.

// A container is what a file lies in.
const (
	bare = iota
	zipped
	compressed
	inPage
	containerCount
)

// originals are files of every kind, small; recordings are unframed.
func originals(t testing.TB) (all [][]byte) {
	t.Helper()
	for i, layout := range pytorchtest.Layouts {
		v := pytorchtest.Value(layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: uint64(i), Operations: 12})))
		all = append(all, pytorchtest.PythonPickle(v, i%6), pytorchtest.CPPPickle(v, i%2 == 0))
	}
	snapshot, err := json.Marshal(hostileSnapshot(true))
	fatal.If(t, err)
	return append(all, snapshot, unframed(recordedSession(t)),
		[]byte(`<script>alloc_data = {"actions": [0, 1, 0], "elements": [{"size": 512, "info": 1}, {"size": 9, "info": 0}], "suffix_table": [[0, null], [1, 0]], "string_table": ["a.py:1:f", "b.py:2:g"]}</script>`),
		[]byte(`<script>alloc_data = {"actions": [0], "elements_size": [9], "elements_info": [0], "elements_category": [0], "suffix_table": [[0, null]], "string_table": ["a.py:1:f"], "categories": ["unknown"]}</script>`))
}

// recordedSession is a recording with frames of every type.
func recordedSession(t testing.TB) []byte {
	t.Helper()
	all := pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 20})
	var out, pickle bytes.Buffer
	fatal.If(t, pytorch.Write(&pickle, all))
	d := &all.Devices[0]
	base, _ := trace.Rewind(all, d) // what cannot be undone does not matter here
	amounts := []trace.Amount{{Name: "parameter", Bytes: 1 << 20}}
	step := trace.Step{Number: 1, Time: 1e15, Duration: 1e6, Loss: 2, Categories: amounts, AtPeak: amounts, Settings: []trace.Value{{Key: "amp", Value: "off"}}}
	e := wire.NewEncoder(&out)
	e.Hello(&wire.Hello{PID: 7, Command: "train", Writer: "memtop's engine", Devices: []int{0}, Settings: all.Settings, Rank: &trace.Rank{Job: "a", World: 2}})
	e.Tables(all.Tables)
	e.Options([]trace.Option{{Key: "amp", Value: "off", Choices: []string{"off", "bf16"}}})
	e.Base(d.ID, 0, &base, 0, "")
	e.Events(d.ID, 0, d.Events.Span(0))
	e.Step(&step)
	e.Steps([]*trace.Step{&step, &step})
	e.Change(&trace.Change{ID: 1, Key: "amp", From: "off", To: "bf16"})
	e.Gauges([]trace.Gauge{{Total: 80 << 30, Used: 1 << 30}})
	e.Snapshot(pickle.Bytes())
	e.Tags(d.ID, []trace.Tag{{Addr: d.Events.At(0).Addr, Note: 1}})
	e.Counters(wire.Counters{Time: 1e15})
	e.Bye("it ended")
	fatal.If(t, e.Flush())
	return out.Bytes()
}

// A frame is its type and its payload; unframed and framed have two bytes of length
// between them, and no checksum.
type frame struct {
	kind    byte
	payload []byte
}

// recordingMark begins an unframed recording.
const recordingMark = "\x8ffr"

func unframed(stream []byte) []byte {
	out := []byte(recordingMark)
	for rest := stream[8:]; len(rest) > 0; {
		n, used := binary.Uvarint(rest[1:])
		out = append(out, rest[0], byte(n), byte(n>>8))
		out = append(out, rest[1+used:1+used+int(n)]...)
		rest = rest[1+used+int(n)+crc32.Size:]
	}
	return out
}

func frames(b []byte) (all []frame) {
	for b = b[len(recordingMark):]; len(b) >= 3; {
		n := min(int(b[1])|int(b[2])<<8, len(b)-3)
		all, b = append(all, frame{b[0], b[3 : 3+n : 3+n]}), b[3+n:]
	}
	return all
}

// framed is the recording of frames, each with the checksum that fits.
func framed(all []frame) []byte {
	out := bytes.NewBufferString("\x8fmtr\r\n\x01\x00")
	for _, f := range all {
		writeFrame(out, wire.Type(f.kind), f.payload)
	}
	return out.Bytes()
}

// lengths are what a file may declare without having it.
var lengths = []uint64{0, 1, 0x7f, 0xff, 1 << 16, 1 << 20, 1<<28 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// mutated is a file with a change to its structure that follows from the seed; 0 is none.
func mutated(seed uint64, file []byte) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	switch recording := bytes.HasPrefix(file, []byte(recordingMark)); {
	case recording && seed == 0:
		return framed(frames(file))
	case recording:
		return framed(changeFrame(r, frames(file)))
	case seed > 0 && len(file) > 0 && file[0] == 0x80:
		return changeOpcode(r, file)
	case seed > 0:
		return changeNumber(r, file)
	}
	return file
}

func choose[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// payloads are what a frame may have instead of its own.
var payloads = []string{"", "null", "{}", "[]", "0", `""`, `[null]`, `{"devices":[-1],"layers":[{}]}`, "\x00", "\xff\xff\xff\xff\x07"}

func changeFrame(r *rand.Rand, all []frame) []frame {
	if len(all) == 0 {
		return all
	}
	at := r.IntN(len(all))
	f := &all[at]
	switch r.IntN(6) {
	case 0:
		return slices.Delete(all, at, at+1)
	case 1:
		return slices.Insert(all, r.IntN(len(all)), slices.Repeat([]frame{*f}, 1<<r.IntN(6))...)
	case 2:
		f.kind = byte(1 + r.IntN(24))
	case 3:
		f.payload = []byte(choose(r, payloads))
	default: // a number becomes another
		cut := r.IntN(len(f.payload) + 1)
		_, used := binary.Uvarint(f.payload[cut:])
		number := binary.AppendUvarint(bytes.Clone(f.payload[:cut]), choose(r, append(lengths, r.Uint64()>>r.IntN(64))))
		f.payload = append(number, f.payload[cut+max(0, used):]...)
	}
	return all
}

var decimal = regexp.MustCompile(`-?\d+`)

// changeNumber has a number of a text be another one, or none.
func changeNumber(r *rand.Rand, text []byte) []byte {
	found := decimal.FindAllIndex(text, -1)
	if found == nil {
		return text
	}
	at, by := choose(r, found), choose(r, []string{"-1", "0", "7", "255", "65536", "4294967296", "-9223372036854775808", "18446744073709551615", "1e999", "0.5", "null", "[]", "{}", `""`})
	return slices.Concat(text[:at[0]], []byte(by), text[at[1]:])
}

// insertions are operations to put between others.
var insertions = []string{
	"(", ")", "]", "}", "N", "0", "1", "2", "t", "l", "d", "e", "u", "a", "s", ".", "R", "b", "o", "\x81", "\x85", "\x86", "\x87", "\x8f", "\x90", "\x94",
	"h\x00", "h\xff", "j\xff\xff\xff\xff", "r\xff\xff\xff\x7f", "q\x00", "g0\n", "p0\n", "K\x01", "J\xff\xff\xff\xff", "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80",
	"cos\nsystem\n", "ctorch.jit._pickle\nrestore_type_tag\n", "\x8c\x02os\x8c\x06system\x93", "Vx\n", "X\x00\x00\x00\x00", "\x95\x00\x00\x00\x00\x00\x00\x00\x00",
}

// sizes are how many bytes follow an opcode; a negative size is that of a length, which as
// many bytes follow.
var sizes = map[byte]int{
	'J': 4, 'K': 1, 'M': 2, 'h': 1, 'j': 4, 'q': 1, 'r': 4, 'G': 8, 0x80: 1, 0x95: 8,
	'U': -1, 'C': -1, 0x8a: -1, 0x8c: -1, 'T': -4, 'B': -4, 'X': -4, 0x8b: -4, 0x8d: -8, 0x8e: -8,
}

// operations returns where the operations of a pickle begin, up to where they make no
// sense, and the end of the last.
func operations(pickle []byte) []int {
	all := []int{0}
	for at := 0; at < len(pickle); all = append(all, at) {
		size := sizes[pickle[at]]
		at++
		if size < 0 && at-size <= len(pickle) {
			length := binary.LittleEndian.Uint64(append(bytes.Clone(pickle[at:at-size]), make([]byte, 8)...))
			size = int(min(length, uint64(len(pickle)))) - size
		}
		if size < 0 || at+size > len(pickle) {
			break
		}
		at += size
	}
	return all
}

func changeOpcode(r *rand.Rand, pickle []byte) []byte {
	all := operations(pickle)
	if len(all) < 3 {
		return pickle
	}
	i, j := r.IntN(len(all)-1), r.IntN(len(all)-1)
	before, own, after := pickle[:all[i]], bytes.Clone(pickle[all[i]:all[i+1]]), pickle[all[i+1]:]
	switch r.IntN(6) {
	case 0:
		return slices.Concat(before, after)
	case 1:
		return slices.Concat(before, own, own, after)
	case 2:
		return slices.Concat(before, bytes.Repeat([]byte(choose(r, insertions)), 1<<r.IntN(16)), after)
	case 3:
		return slices.Concat(before, []byte(choose(r, insertions)), own, after)
	case 4:
		return slices.Concat(before, pickle[all[j]:all[j+1]], after)
	default: // another argument, or another length of it
		copy(own[1:], binary.LittleEndian.AppendUint64(nil, choose(r, lengths))[:min(8, len(own)-1)])
		return slices.Concat(before, own, after)
	}
}
