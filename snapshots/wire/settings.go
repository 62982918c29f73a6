package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// Settings are an allocator's settings in JSON: an object in the program's order.
// Whole numbers have no decimal point or exponent, and other numbers have one, so
// that each is decoded to the same type.
type Settings []trace.Setting

// settingsDepth bounds how deep settings are nested.
const settingsDepth = 16

// MarshalJSON writes the settings as an object.
func (s Settings) MarshalJSON() ([]byte, error) {
	return appendSettings(nil, s, 0)
}

func appendSettings(to []byte, settings []trace.Setting, depth int) ([]byte, error) {
	return appendList(to, "{}", len(settings), depth, func(to []byte, i int) ([]byte, error) {
		key, err := json.Marshal(settings[i].Key)
		if err != nil {
			return nil, err
		}
		if to, err = appendValue(append(append(to, key...), ':'), settings[i].Value, depth+1); err != nil {
			return nil, fmt.Errorf("setting %q: %w", settings[i].Key, err)
		}
		return to, nil
	})
}

func appendValue(to []byte, value any, depth int) ([]byte, error) {
	switch v := value.(type) {
	case nil, bool, string, int64:
		text, err := json.Marshal(v)
		return append(to, text...), err
	case float64:
		return appendFloat(to, v), nil
	case []trace.Setting:
		return appendSettings(to, v, depth)
	case []any:
		return appendList(to, "[]", len(v), depth, func(to []byte, i int) ([]byte, error) { return appendValue(to, v[i], depth+1) })
	default:
		return nil, fmt.Errorf("a value of type %T", value)
	}
}

// appendList writes n items between two brackets.
func appendList(to []byte, brackets string, n, depth int, item func(to []byte, i int) ([]byte, error)) (_ []byte, err error) {
	if depth > settingsDepth {
		return nil, fmt.Errorf("settings nested more than %d deep", settingsDepth)
	}
	to = append(to, brackets[0])
	for i := range n {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = item(to, i); err != nil {
			return nil, err
		}
	}
	return append(to, brackets[1]), nil
}

// appendFloat writes f so that it differs from a whole number. JSON has no
// infinities and no NaN: appendFloat writes those as texts.
func appendFloat(to []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(to, strconv.FormatFloat(f, 'g', -1, 64))
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return append(to, text...)
}

// UnmarshalJSON reads an object.
func (s *Settings) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token == nil {
		*s = nil
		return nil
	}
	if token != json.Delim('{') {
		return errors.New("settings that are no object")
	}
	*s, err = readSettings(d, 0)
	return err
}

// readSettings reads the rest of an object.
func readSettings(d *json.Decoder, depth int) ([]trace.Setting, error) {
	settings := []trace.Setting{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, errors.New("a key that is no text")
		}
		value, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		settings = append(settings, trace.Setting{Key: key, Value: value})
	}
	_, err := d.Token()
	return settings, err
}

func readValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	if depth > settingsDepth {
		return nil, fmt.Errorf("settings nested more than %d deep", settingsDepth)
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return readSettings(d, depth)
		}
		return readItems(d, depth)
	case json.Number:
		if n, err := token.Int64(); err == nil {
			return n, nil
		}
		return token.Float64()
	default:
		return token, nil
	}
}

func readItems(d *json.Decoder, depth int) ([]any, error) {
	items := []any{}
	for d.More() {
		item, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := d.Token()
	return items, err
}
