package pytorch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// pickled has a value of every kind that a pickle can hold, in the bytes of
// every opcode that makes one. Their memo indices are far behind those of the
// pickler of the tests.
func pickled() map[string]string {
	const frame = "}(\x8c\x08filename\x8c\x01a\x8c\x04lineK\x01\x8c\x04name\x8c\x01fu"
	const entry = "}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK\x07u"
	const block = "}(\x8c\x04sizeK\x01\x8c\x05state\x8c\x08inactiveu"
	var manyFrames strings.Builder // more than there are texts
	for i := range 250 {
		fmt.Fprintf(&manyFrames, "}(\x8c\x08filename\x8c\x01a\x8c\x04lineK%su0", []byte{byte(i)})
	}
	const put, get = "r\x00\x00\x09\x00", "j\x00\x00\x09\x00"
	return map[string]string{
		"BININT1": "K\x07", "BININT2": "M\x07\x01", "BININT": "J\xff\xff\xff\x7f", "a negative BININT": "J\x00\x00\x00\x80",
		"INT": "I77\n", "INT of 64 bits": "I18446744073709551615\n", "INT of many digits": "I" + strings.Repeat("9", 300) + "\n",
		"a truth": "I01\n", "LONG": "L-5L\n", "LONG1 of nothing": "\x8a\x00", "LONG1": "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
		"the lowest LONG1": "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", "an unsigned LONG1": "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00",
		"a LONG1 of 20 bytes": "\x8a\x14" + strings.Repeat("\x7f", 20), "LONG4": "\x8b\x02\x00\x00\x00\x07\x00",
		"BINFLOAT": "G\x40\x04\x00\x00\x00\x00\x00\x00", "a whole BINFLOAT": "G\x40\x00\x00\x00\x00\x00\x00\x00",
		"a float that is not a number": "G\x7f\xf8\x00\x00\x00\x00\x00\x00", "an endless float": "G\xff\xf0\x00\x00\x00\x00\x00\x00",
		"FLOAT": "F1e300\n", "NEWTRUE": "\x88", "NEWFALSE": "\x89", "NONE": "N",
		"SHORT_BINUNICODE": "\x8c\x02hi", "an empty text": "\x8c\x00", "a text that is a key": "\x8c\x06action", "BINUNICODE": "X\x02\x00\x00\x00hi",
		"BINUNICODE8": "\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi", "UNICODE": "V\\u0000\n", "STRING": "S'hi'\n", "BINSTRING": "T\x02\x00\x00\x00\xff\xfe",
		"SHORT_BINSTRING": "U\x02hi", "SHORT_BINBYTES": "C\x02hi", "BINBYTES": "B\x02\x00\x00\x00hi", "BYTEARRAY8": "\x96\x02\x00\x00\x00\x00\x00\x00\x00hi",
		"EMPTY_LIST": "]", "a memoized EMPTY_LIST": "]" + put, "a list": "](K\x01\x8c\x01xNe", "APPEND": "]K\x07a", "LIST": "(K\x01l", "LIST of two lists": "(]]l",
		"a list of a pair": "](K\x01K\x02e", "a list of frames": "](" + frame + frame + "e", "a list of entries": "](" + entry + "e", "a list of blocks": "](" + block + "e",
		"EMPTY_DICT": "}", "a memoized EMPTY_DICT": "}" + put, "a dict": "}(K\x01K\x02u", "SETITEM": "}\x8c\x01xK\x07s", "DICT": "(K\x01K\x02d",
		"a dict keyed by nothing": "}NNs", "a dict keyed by itself": "}" + put + get + get + "s",
		"EMPTY_TUPLE": ")", "TUPLE": "(K\x01NK\x01t", "TUPLE1": "N\x85", "a pair": "K\x01K\x02\x86", "TUPLE2": "NN\x86", "TUPLE3": "K\x01K\x02K\x03\x87",
		"tuples in tuples": "K\x01\x85\x85\x85", "a reference to a text": "\x8c\x02hi" + put + "0" + get, "a reference to a number": "K\x07" + put + "0" + get,
		"a reference to a float": "G\x40\x04\x00\x00\x00\x00\x00\x00" + put + "0" + get, "a reference to a list of frames": "](" + frame + "e" + put + "0" + get,
		"a reference to an open list": "]" + put + get + "a", "a list that holds itself": "]" + put + "(" + get + "K\x01e", "a dict that holds itself": "}" + put + "\x8c\x01x" + get + "s",
		"a tuple that holds its list": "]" + put + get + "\x85a", "a frame": frame, "a duplicate": "K\x072\x86", "an entry": entry, "a block": block,
		"a segment": "}(\x8c\x0atotal_sizeK\x01\x8c\x06blocks](" + block + "eu", "a tenant": "}\x8c\x09real_sizeK\x01s",
		"an annotation": "}(\x8c\x05stage\x8c\x05START\x8c\x04name\x8c\x01nu", "a snapshot": "}\x8c\x08segments]s",
		"a tuple of a high number": strings.Repeat("NN\x860", 500) + "NN\x86", "a frame of a high number": manyFrames.String() + frame,
		"a restored list": "ctorch.jit._pickle\nrestore_type_tag\n](K\x01K\x02eK\x00\x86R", "the tag function": "ctorch.jit._pickle\nrestore_type_tag\n",
	}
}

// inJSON has a value of every kind that JSON can hold.
var inJSON = map[string]string{
	"a number": "7", "a negative number": "-9223372036854775808", "an unsigned number": "18446744073709551615", "a long number": "1" + strings.Repeat("0", 300),
	"a fraction": "2.5", "a whole fraction": "2.0", "NaN": "NaN", "Infinity": "-Infinity", "true": "true", "false": "false", "null": "null",
	"a text": `"hi"`, "an empty text": `""`, "a text that is a key": `"action"`, "an escaped text": `"\ud800\u0000"`, "an empty list": "[]", "a list": `[1, "x", null]`,
	"a pair": "[1, 2]", "lists in lists": "[[[[]]]]", "an empty object": "{}", "an object": `{"x": 1}`, "objects in objects": `{"x": {"x": {}}}`,
	"a frame": `{"filename": "a", "line": 1, "name": "f"}`, "a list of frames": `[{"filename": "a", "line": 1, "name": "f"}]`,
	"an entry": `{"action": "alloc", "size": 7}`, "a block": `{"size": 1, "state": "inactive"}`, "a segment": `{"total_size": 1, "blocks": []}`,
	"a tenant": `{"real_size": 1}`, "an annotation": `{"stage": "START", "name": "n"}`, "a snapshot": `{"segments": []}`,
}

// TestAnyValueMayStandAnywhere puts a value of every kind in every place of
// every kind of record: as the value of each key, instead of each key, as one
// more key, and among the items of each list. The result is a trace that can be
// read, or an error with its place. One place of 32 is tried, different
// ones for each kind of value, or all with MEMTOP_LONG=1.
func TestAnyValueMayStandAnywhere(t *testing.T) {
	fatal.IfShort(t)
	encodings := map[string]struct {
		kinds  map[string]string
		encode func(v any) []byte
		decode decoder
	}{
		"pickle": {pickled(), func(v any) []byte { return pytorchtest.PythonPickle(v, 4) }, pytorch.Decode},
		"JSON":   {inJSON, func(v any) []byte { return plainJSON(nil, v) }, pytorch.DecodeJSON},
	}
	for encoding, e := range encodings {
		for k, name := range slices.Sorted(maps.Keys(e.kinds)) {
			t.Run(encoding+"/"+name, func(t *testing.T) {
				all := everywhere(pytorchtest.Raw(e.kinds[name]))
				for i, place := range slices.Sorted(maps.Keys(all)) {
					if (i+k)%32 == 0 || os.Getenv("MEMTOP_LONG") != "" {
						decoded(t, place, e.decode, e.encode(all[place]))
					}
				}
			})
		}
	}
}

type decoder func(context.Context, io.Reader, pytorch.Options) (*trace.Trace, error)

func decoded(t *testing.T, place string, decode decoder, data []byte) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", place, r)
		}
	}()
	tr, err := decode(t.Context(), bytes.NewReader(data), pytorch.Options{Total: int64(len(data))})
	if err != nil {
		checkError(t, err, int64(len(data)))
		return
	}
	checkReadable(tr)
}

// everywhere returns, by place, snapshots with v in that place.
func everywhere(v any) map[string]any {
	all := map[string]any{}
	for record, keys := range places() {
		add := func(place string, edit func(items []pytorchtest.Item) []pytorchtest.Item) {
			all[record+": "+place] = pytorchtest.Change(everyKey(), func(items []pytorchtest.Item) []pytorchtest.Item {
				if signature(items) != record {
					return items
				}
				return edit(items)
			})
		}
		add("one more key", func(items []pytorchtest.Item) []pytorchtest.Item {
			return append(items, pytorchtest.Item{Key: v, Value: int64(1)})
		})
		for i, key := range keys {
			add("the value of "+key, func(items []pytorchtest.Item) []pytorchtest.Item {
				items[i].Value = v
				return items
			})
			add("the key "+key, func(items []pytorchtest.Item) []pytorchtest.Item {
				items[i].Key = v
				return items
			})
			if !lists[key] {
				continue
			}
			add("an item of "+key, func(items []pytorchtest.Item) []pytorchtest.Item {
				l := items[i].Value.(*pytorchtest.List)
				items[i].Value = &pytorchtest.List{Items: slices.Concat([]any{v}, l.Items, []any{v})}
				return items
			})
		}
	}
	return all
}

// lists are the keys whose value is a list.
var lists = map[string]bool{
	"segments": true, "device_traces": true, "external_annotations": true, "trace_alloc_overflowed": true,
	"blocks": true, "history": true, "frames": true, "forward_frames": true,
}

// everyKey is a small snapshot with every key of every record, including old
// blocks' histories and torch.fx.
func everyKey() any {
	frame := func(name string) any {
		return record("name", name, "filename", "a.py", "line", int64(3), "fx_node_op", "call", "fx_node_name", "n",
			"fx_node_target", "t", "fx_original_trace", "o", "fx_node_info", "i")
	}
	frames := list(frame("f"), frame("g"))
	entry := func(action string, addr int64) any {
		return record("action", action, "addr", addr, "size", int64(512), "stream", int64(0), "time_us", int64(1), "frames", frames,
			"compile_context", "N/A", "user_metadata", "m", "pool_id", pytorchtest.Tuple{int64(0), int64(1)}, "forward_frames", list("l"),
			"category", "gradient", "layer", "h.0", "role", "weight", "shape", "[2]", "dtype", "bf16", "device_free", int64(5))
	}
	tenant := record("addr", int64(512), "real_size", int64(500), "frames", frames)
	block := func(addr int64) any {
		return record("address", addr, "size", int64(512), "requested_size", int64(500), "state", "active_allocated", "frames", frames,
			"history", list(tenant), "category", "gradient", "user_metadata", "m")
	}
	segment := record("device", int64(0), "address", int64(512), "total_size", int64(1024), "allocated_size", int64(1024), "active_size", int64(1024),
		"requested_size", int64(1000), "stream", int64(0), "segment_type", "small", "segment_pool_id", pytorchtest.Tuple{int64(0), int64(0)},
		"is_expandable", false, "frames", frames, "blocks", list(block(512), block(1024)))
	annotation := record("name", "n", "stage", "START", "device", int64(0), "time_us", int64(1))
	return record("segments", list(segment), "device_traces", list(list(entry("alloc", 512), entry("alloc", 1024), entry("oom", 0))),
		"external_annotations", list(annotation), "trace_alloc_overflowed", list(false), "trace_alloc_max_entries", int64(10),
		"allocator_settings", record("expandable_segments", true, "roundup", record("1", int64(2))))
}

func record(keysAndValues ...any) *pytorchtest.Dict {
	d := &pytorchtest.Dict{}
	for i := 0; i < len(keysAndValues); i += 2 {
		d.Items = append(d.Items, pytorchtest.Item{Key: keysAndValues[i], Value: keysAndValues[i+1]})
	}
	return d
}

func list(items ...any) *pytorchtest.List { return &pytorchtest.List{Items: items} }

// signature names a kind of record by its first two keys.
func signature(items []pytorchtest.Item) string {
	return fmt.Sprint(items[0].Key, " and ", items[min(1, len(items)-1)].Key)
}

// places returns the keys of each kind of record.
func places() map[string][]string {
	all := map[string][]string{}
	pytorchtest.Change(everyKey(), func(items []pytorchtest.Item) []pytorchtest.Item {
		var keys []string
		for _, item := range items {
			keys = append(keys, item.Key.(string))
		}
		all[signature(items)] = keys
		return items
	})
	return all
}

// plainJSON appends v as JSON.
func plainJSON(b []byte, v any) []byte {
	items := func(b []byte, open, end byte, n int, item func(b []byte, i int) []byte) []byte {
		b = append(b, open)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = item(b, i)
		}
		return append(b, end)
	}
	switch v := v.(type) {
	case pytorchtest.Raw:
		return append(b, v...)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if strings.Trim(text, "-0123456789") == "" {
			text += ".0"
		}
		return append(b, text...)
	case pytorchtest.Tuple:
		return items(b, '[', ']', len(v), func(b []byte, i int) []byte { return plainJSON(b, v[i]) })
	case *pytorchtest.List:
		return items(b, '[', ']', len(v.Items), func(b []byte, i int) []byte { return plainJSON(b, v.Items[i]) })
	case *pytorchtest.Dict:
		return items(b, '{', '}', len(v.Items), func(b []byte, i int) []byte {
			return plainJSON(append(plainJSON(b, v.Items[i].Key), ':'), v.Items[i].Value)
		})
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return append(b, text...)
	}
}
