package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/wire"
)

// bombBytes is how much the bombs unpack to.
const bombBytes = 16 << 20

// bombs are contents that ask for much memory with few bytes, over and over. Those of
// pickles begin with protocol 4.
var bombs = map[string]func() []byte{
	"zeros":                func() []byte { return make([]byte, bombBytes) },
	"JSON lists":           func() []byte { return repeated(`{"segments": [`, "[0],") },
	"appends":              func() []byte { return repeated("\x80\x04]", "Na") },
	"tuples":               func() []byte { return repeated("\x80\x04", "N\x850") },
	"nested tuples":        func() []byte { return repeated("\x80\x04N", "\x85") },
	"memo puts":            func() []byte { return repeated("\x80\x04", "]\x94") },
	"texts":                func() []byte { return repeated("\x80\x04", "U\x04#0") },
	"entries in a trace":   func() []byte { return repeated("\x80\x04}U\x0ddevice_traces](](", "}U\x06actionU\x05allocs") },
	"a page of tuples":     func() []byte { return embedded(repeated("\x80\x04N", "\x85")) },
	"a recording's layers": func() []byte { return recorded(wire.StepFrame, objects(`{"layers":[`, `]}`), 4) },
}

// repeated returns bombBytes of more after the beginning. Each # in it becomes a
// number of four bytes, that of the repetition.
func repeated(begin, more string) []byte {
	b := make([]byte, 0, bombBytes+len(more))
	b = append(b, begin...)
	pieces := strings.Split(more, "#")
	for n := uint32(0); len(b) < bombBytes; n++ {
		b = append(b, pieces[0]...)
		for _, piece := range pieces[1:] {
			b = append(binary.LittleEndian.AppendUint32(b, n), piece...)
		}
	}
	return b
}

// embedded returns a page of trace_plot's.
func embedded(content []byte) []byte {
	return fmt.Appendf(nil, `<script>files = [{"name": "n", "base64": "%s"}]</script>`, base64.StdEncoding.EncodeToString(content))
}

// recorded returns a recording that repeats a frame a number of times.
func recorded(t wire.Type, payload []byte, times int) []byte {
	var b bytes.Buffer
	e := wire.NewEncoder(&b)
	e.Hello(&wire.Hello{PID: 7})
	if err := e.Flush(); err != nil {
		panic(err)
	}
	for range times {
		writeFrame(&b, t, payload)
	}
	return b.Bytes()
}

// objects returns 4 MiB of empty objects.
func objects(begin, end string) []byte {
	n := 4<<20 - len(begin) - len(end)
	return slices.Concat([]byte(begin), bytes.Repeat([]byte("{},"), n/3-1), []byte("{}"), []byte(end))
}

// writeFrame writes any payload as a frame.
func writeFrame(b *bytes.Buffer, t wire.Type, payload []byte) {
	frame := append(binary.AppendUvarint([]byte{byte(t)}, uint64(len(payload))), payload...)
	b.Write(binary.LittleEndian.AppendUint32(frame, crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli))))
}
