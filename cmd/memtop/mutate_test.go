package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/wire"
)

// What random bytes do not make of a file in the time that there is: other opcodes of a
// pickle, other numbers of a text, and lengths that a file declares and does not have. Other frames of
// a recording are in FuzzFrames of package wire.

// A container is what a file lies in.
const (
	bare = iota
	zipped
	compressed
	inPage
	containerCount
)

// originals are files of every kind, small.
func originals(t testing.TB) (all [][]byte) {
	t.Helper()
	for i, layout := range pytorchtest.Layouts {
		v := pytorchtest.Value(layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: uint64(i), Operations: 12})))
		all = append(all, pytorchtest.PythonPickle(v, i%6), pytorchtest.CPPPickle(v, i%2 == 0))
	}
	snapshot, err := json.Marshal(hostileSnapshot(true))
	fatal.If(t, err)
	return append(all, snapshot, recorded(wire.StepFrame, []byte(`{"step":1}`), 2),
		[]byte(`<script>alloc_data = {"actions": [0, 1, 0], "elements": [{"size": 512, "info": 1}, {"size": 9, "info": 0}], "suffix_table": [[0, null], [1, 0]], "string_table": ["a.py:1:f", "b.py:2:g"]}</script>`),
		[]byte(`<script>alloc_data = {"actions": [0], "elements_size": [9], "elements_info": [0], "elements_category": [0], "suffix_table": [[0, null]], "string_table": ["a.py:1:f"], "categories": ["unknown"]}</script>`))
}

// lengths are what a file may declare without having it.
var lengths = []uint64{0, 1, 0x7f, 0xff, 1 << 16, 1 << 20, 1<<28 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// mutated is a file with a change to its structure that follows from the seed; 0 is none.
func mutated(seed uint64, file []byte) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	switch {
	case seed > 0 && len(file) > 0 && file[0] == 0x80:
		return changeOpcode(r, file)
	case seed > 0:
		return changeNumber(r, file)
	}
	return file
}

func choose[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

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
