package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// bombBytes is how much the bombs unpack to.
const bombBytes = 16 << 20

// bombs are contents that ask for much memory with few bytes, over and over. In
// those of pickles <name> is a reference to that text, and # a number that goes
// up.
func bombs() map[string]func() []byte {
	const frame, entry = "}(<filename><filename><line>J#u", "}<action><alloc>s"
	all := map[string]func() []byte{
		"JSON lists":            plain(`{"segments": [`, "[0],"),
		"JSON objects":          plain(`{"segments": [`, `{"":0},`),
		"JSON numbers":          plain(`{"segments": [`, "0,"),
		"a JSON text":           plain(`{"segments": ["`, "m"),
		"JSON spaces":           plain(`{"segments": [`, " "),
		"a page of tuples":      func() []byte { return embedded(pickled("N", "\x85")) },
		"zeros":                 func() []byte { return make([]byte, bombBytes) },
		"a recording's texts":   func() []byte { return recorded(wire.StringTable, numberedTexts(), 1) },
		"a recording's tables":  func() []byte { return recorded(wire.StringTable, make([]byte, 1<<20), 8) },
		"a recording's steps":   func() []byte { return recorded(wire.StepFrame, nil, 1<<20) },
		"a recording's layers":  func() []byte { return recorded(wire.StepFrame, objects(`{"layers":[`, `]}`), 4) },
		"a recording's batches": func() []byte { return recorded(wire.StepsFrame, batchOfSteps(), 8) },
		"a recording's gauges":  func() []byte { return recorded(wire.GaugesFrame, objects(`[`, `]`), 4) },
		"a recording's bases":   func() []byte { return recordedBases(1<<18, 1) },
		"a recording's devices": func() []byte { return recordedBases(1, 256) },
		"a recording's events":  recordedEvents,
	}
	for name, b := range map[string][2]string{
		"values": {"", "N"}, "lists": {"", "]"}, "memo puts": {"", "]\x94"}, "memo puts of numbers": {"", "K\x01\x940"},
		"memo puts far apart": {"N", "r\x00#"}, "a memo put at the end": {"", "Nr\xff\xff\xff\xff0"},
		"marks": {"", "("}, "duplicates": {"K\x01", "2"}, "appends": {"]", "Na"}, "appends of many": {"", "](NNNNNNNNNe0"},
		"one long list": {"](", "N"}, "nested lists": {"", "]a"}, "lists in lists": {"", "]]a0"}, "lists of one": {"", "]Na0"},
		"tuples": {"", "N\x850"}, "nested tuples": {"N", "\x85"}, "nested pairs": {"N", "N\x86"}, "dicts": {"", "}NNs0"}, "a dict of nothing": {"}(", "NN"},
		"texts": {"", "U\x04#0"}, "texts in lines": {"", "V\\u1234\n0"}, "one long text": {"X\x00\x00\x00\x01", "a"},
		"long bytes": {"B\x00\x00\x00\x01", "a"}, "a long integer": {"\x8b\x00\x00\x00\x01", "a"}, "pools": {"", "J#K\x01\x860"},
		"frames": {"", frame + "0"}, "frames of torch.fx": {"", strings.Replace(frame, "u", "<fx_node_op><filename>u0", 1)},
		"stacks": {"", "](" + frame + "e0"}, "long stacks": {"}(<filename><filename><line>K\x01uq\xf00", "](" + strings.Repeat("h\xf0", 500) + frame + "e0"},
		"entries": {"", entry + "0"}, "entries in a trace": {"}<device_traces>](](", entry}, "addresses": {"}<device_traces>](](", "}(<action><alloc><addr>J#u"},
		"out of memory": {"}<device_traces>](](", "}<action><oom>s"}, "notes": {"}<device_traces>](](", "}(<action><alloc><category>U\x04#u"},
		"one entry many times": {entry + "q\xf00}<device_traces>](](N", "h\xf0"}, "streams": {"}<device_traces>](](", "}(<action><alloc><stream>J#u"},
		"segments": {"}<segments>](", "}<total_size>K\x01s"}, "devices": {"}<segments>](", "}(<total_size>K\x01<device>J#u"},
		"one segment many times": {"}<total_size>K\x01sq\xf00}<segments>](", "h\xf0"}, "blocks": {"}<segments>](}<blocks>](", "}(<size>K\x01<state><inactive>u"},
		"tenants": {"", "}<real_size>K\x01s0"}, "annotations": {"}<external_annotations>](", "}(<name><name><stage><name>u"},
		"traces":   {entry + "q\xf00}<device_traces>](", "](h\xf0h\xf0e"},
		"metadata": {"](" + strings.Repeat("X\x00\x10\x00\x00"+strings.Repeat("m", 4096), 60) + "eq\xf00}<device_traces>](](", "}(<action><alloc><user_metadata>h\xf0u"},
	} {
		all[name] = func() []byte { return pickled(b[0], b[1]) }
	}
	return all
}

// pickled returns a pickle that begins and then goes on with the same.
func pickled(begin, more string) []byte {
	names := []string{
		"filename", "line", "name", "fx_node_op", "action", "alloc", "oom", "addr", "category", "stream", "segments", "total_size",
		"device", "blocks", "size", "state", "inactive", "real_size", "stage", "device_traces", "user_metadata", "external_annotations",
	}
	var head strings.Builder
	head.WriteString("\x80\x04")
	for i, name := range names {
		fmt.Fprintf(&head, "U%c%sq%c0", len(name), name, i)
	}
	reference := regexp.MustCompile(`<\w+>`)
	known := func(s string) string {
		return reference.ReplaceAllStringFunc(s, func(name string) string {
			return "h" + string(byte(slices.Index(names, strings.Trim(name, "<>"))))
		})
	}
	return repeated(head.String()+known(begin), known(more))
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

// batchOfSteps returns as much as a frame of steps may have: one whose list is long.
func batchOfSteps() []byte {
	const entries = 1<<19 - 16
	step := append([]byte{1, 2}, make([]byte, 11)...)
	return append(binary.AppendUvarint(step, entries<<1|1), make([]byte, 2*entries)...)
}

func plain(begin, more string) func() []byte { return func() []byte { return repeated(begin, more) } }

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
	for n := range times {
		if t == wire.StepFrame && payload == nil {
			writeFrame(&b, t, fmt.Appendf(nil, `{"step":%d}`, n+1))
			continue
		}
		writeFrame(&b, t, payload)
	}
	return b.Bytes()
}

// objects returns 4 MiB of empty objects.
func objects(begin, end string) []byte {
	n := 4<<20 - len(begin) - len(end)
	return slices.Concat([]byte(begin), bytes.Repeat([]byte("{},"), n/3-1), []byte("{}"), []byte(end))
}

func numberedTexts() []byte {
	var b []byte
	for n := range uint32(1 << 21) {
		b = binary.LittleEndian.AppendUint32(append(b, 4), n)
	}
	return b
}

// recordedBases returns a recording of devices with the given number of segments
// each.
func recordedBases(segments, devices int) []byte {
	var b bytes.Buffer
	e := wire.NewEncoder(&b)
	e.Hello(&wire.Hello{PID: 7})
	var s trace.State
	for i := range segments {
		addr := uint64(i+1) << 20
		s.Segments = append(s.Segments, trace.Segment{Addr: addr, Size: 512, Blocks: []trace.Block{{Addr: addr, Size: 512}}})
	}
	for d := range devices {
		e.Base(d, 0, &s, 0, "")
		e.Events(d, 0, []trace.Event{{Kind: trace.Alloc, Addr: 1 << 20, Size: 512}})
	}
	if err := e.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// recordedEvents returns a recording of allocations in one segment.
func recordedEvents() []byte {
	var b bytes.Buffer
	e := wire.NewEncoder(&b)
	e.Hello(&wire.Hello{PID: 7})
	e.Base(0, 0, &trace.State{Segments: []trace.Segment{{
		Addr: 1 << 40, Size: 1 << 40, Blocks: []trace.Block{{Addr: 1 << 40, Size: 1 << 40}},
	}}}, 0, "")
	events := make([]trace.Event, 1<<21)
	for i := range events {
		events[i] = trace.Event{Kind: trace.Alloc, Addr: 1<<40 + uint64(i)*512, Size: 512}
	}
	for at := 0; at < len(events); at += 1 << 15 {
		e.Events(0, int64(at), events[at:at+1<<15])
	}
	if err := e.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// writeFrame writes any payload as a frame.
func writeFrame(b *bytes.Buffer, t wire.Type, payload []byte) {
	frame := append(binary.AppendUvarint([]byte{byte(t)}, uint64(len(payload))), payload...)
	b.Write(binary.LittleEndian.AppendUint32(frame, crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli))))
}
