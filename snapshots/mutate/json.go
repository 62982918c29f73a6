package mutate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
)

// Bounds of what writeJSON makes of trees that share parts or contain
// themselves: it has no references.
const (
	jsonDepth = 2000
	jsonBytes = 4 << 20
)

// writeJSON writes v as JSON, and what JSON does not know as Python's json
// module does, NaN for one. Text is written byte for byte, valid or not.
func writeJSON(v any) []byte { return appendJSON(nil, v, 0) }

func appendJSON(out []byte, v any, depth int) []byte {
	if depth > jsonDepth {
		return append(out, "null"...)
	}
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case uint64:
		return strconv.AppendUint(out, v, 10)
	case float64:
		return appendFloat(out, v)
	case string:
		return appendText(out, v)
	case pytorchtest.Fresh:
		return appendText(out, string(v))
	case pytorchtest.Raw:
		return append(out, "-123456789012345678901234567890"...)
	case *pytorchtest.List:
		return appendList(out, v.Items, depth)
	case pytorchtest.Tuple:
		return appendList(out, v, depth)
	case *pytorchtest.Dict:
		return appendDict(out, v, depth)
	default:
		panic(fmt.Sprintf("mutate: no JSON for a %T", v))
	}
}

func appendFloat(out []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(out, "NaN"...)
	case math.IsInf(f, 1):
		return append(out, "Infinity"...)
	case math.IsInf(f, -1):
		return append(out, "-Infinity"...)
	default:
		return strconv.AppendFloat(out, f, 'g', -1, 64)
	}
}

// appendText escapes what must be escaped. Control characters beyond it stand
// as they are in some strings: readers may not bear them.
func appendText(out []byte, s string) []byte {
	out = append(out, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' && len(s)%2 == 0:
			out = fmt.Appendf(out, "\\u%04x", c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func appendList(out []byte, items []any, depth int) []byte {
	out = append(out, '[')
	for i, item := range items {
		if len(out) > jsonBytes {
			break
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		out = appendJSON(out, item, depth+1)
	}
	return append(out, ']')
}

func appendDict(out []byte, d *pytorchtest.Dict, depth int) []byte {
	out = append(out, '{')
	for i, item := range d.Items {
		if len(out) > jsonBytes {
			break
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		if isText(item.Key) {
			out = appendJSON(out, item.Key, depth+1)
		} else {
			out = appendText(out, string(appendJSON(nil, item.Key, depth+1)))
		}
		out = appendJSON(append(out, ": "...), item.Value, depth+1)
	}
	return append(out, '}')
}

// readJSON returns JSON as the tree it is. What is not JSON gives an error.
func readJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return readValue(d)
}

func readValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		if n, err := token.Int64(); err == nil {
			return n, nil
		}
		return token.Float64()
	case json.Delim:
		return readContainer(d, token)
	default:
		return token, nil
	}
}

func readContainer(d *json.Decoder, opening json.Delim) (any, error) {
	list, dict := &pytorchtest.List{}, &pytorchtest.Dict{}
	for d.More() {
		value, err := readValue(d)
		if err != nil {
			return nil, err
		}
		if opening == '[' {
			list.Items = append(list.Items, value)
			continue
		}
		item := pytorchtest.Item{Key: value}
		if item.Value, err = readValue(d); err != nil {
			return nil, err
		}
		dict.Items = append(dict.Items, item)
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		return nil, err
	}
	if opening == '[' {
		return list, nil
	}
	return dict, nil
}
