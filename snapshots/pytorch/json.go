package pytorch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// Bounds on the cost of one value of a hostile file.
const (
	jsonMaxDepth  = 1000
	jsonMaxNumber = 400
	jsonMaxShare  = 8 // of the memory that the contents may take, for one string
)

// DecodeJSON reads a snapshot that was saved as JSON: the same records as in
// the pickle, with lists for tuples. It gives the same guarantees as [Decode].
// Bytes after the JSON are ignored.
func DecodeJSON(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	m := newMachine(ctx, r, o)
	defer m.release()
	return m.decode(func() error { return (&jsonReader{machine: m}).value(0) })
}

// jsonReader drives the machine as a pickle of the same data would. It accepts
// what Python's json writes, NaN and Infinity included, and stops at the end of
// the top-level value.
type jsonReader struct {
	*machine
	read []byte // the string or word read last
}

// value reads a value that is in so many containers.
func (r *jsonReader) value(depth int) error {
	switch c, err := r.skipSpace(); {
	case err != nil:
		return err
	case c == '{':
		return r.container(value{tag: tagDict}, '}', depth)
	case c == '[':
		return r.container(value{tag: tagList}, ']', depth)
	case c == '"':
		if err := r.literal(); err != nil {
			return err
		}
		return r.text(r.read)
	case c != '+' && c != '.' && inWord(c):
		return r.word(depth)
	default:
		return r.corrupt("JSON: %q where a value is expected", c)
	}
}

// container reads an object or an array, whose opening bracket is next. Like
// Python's pickler it hands items over in batches, so the stack never holds a
// list of a million events.
func (r *jsonReader) container(empty value, closing byte, depth int) error {
	if depth == jsonMaxDepth {
		return r.corrupt("JSON: nested more than %d deep", jsonMaxDepth)
	}
	r.pos++
	if err := r.push(empty); err != nil {
		return err
	}
	if err := r.mark(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		c, err := r.skipSpace()
		switch {
		case err != nil:
			return err
		case c == closing:
			r.pos++
			return r.flush(closing)
		case n > 0 && c != ',':
			return r.corrupt("JSON: %q where a comma or %q is expected", c, closing)
		case n > 0:
			r.pos++
		}
		if err := r.item(n, closing, depth); err != nil {
			return err
		}
	}
}

// item reads item n of a container, with its key.
func (r *jsonReader) item(n int, closing byte, depth int) error {
	if n > 0 && n%batch == 0 {
		if err := r.flush(closing); err != nil {
			return err
		}
		if err := r.mark(); err != nil {
			return err
		}
	}
	if closing == '}' {
		if err := r.key(); err != nil {
			return err
		}
	}
	return r.value(depth + 1)
}

func (r *jsonReader) key() error {
	switch c, err := r.skipSpace(); {
	case err != nil:
		return err
	case c != '"':
		return r.corrupt("JSON: %q where a key is expected", c)
	}
	if err := r.literal(); err != nil {
		return err
	}
	switch c, err := r.skipSpace(); {
	case err != nil:
		return err
	case c != ':':
		return r.corrupt("JSON: %q where a colon is expected", c)
	}
	r.pos++
	return r.text(r.read)
}

// flush puts the items above the last mark into their container.
func (r *jsonReader) flush(closing byte) error {
	if r.floor() == len(r.stack) {
		_, err := r.popMark()
		return err
	}
	if closing == '}' {
		return r.setItems()
	}
	return r.appends()
}

func (r *jsonReader) skipSpace() (byte, error) {
	for {
		for ; r.pos < r.end; r.pos++ {
			switch c := r.buf[r.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c, nil
			}
		}
		if !r.have(1) {
			return 0, r.inputEnded()
		}
	}
}

// word reads a number or one of the words of JSON.
func (r *jsonReader) word(depth int) error {
	r.read = r.read[:0]
	for r.have(1) && inWord(r.buf[r.pos]) {
		if len(r.read) == jsonMaxNumber {
			return r.corrupt("JSON: a number of more than %d digits", jsonMaxNumber)
		}
		r.read = append(r.read, r.buf[r.pos])
		r.pos++
	}
	if r.err != nil || !r.have(1) && depth > 0 {
		return r.inputEnded()
	}
	v, ok := valueOf(string(r.read))
	if !ok {
		return r.corrupt("JSON: %q is not a number", r.read)
	}
	return r.push(v)
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// valueOf returns the value of a word. Integers beyond 64 bits become floats.
func valueOf(word string) (value, bool) {
	switch word {
	case "true":
		return value{tag: tagBool, n: 1}, true
	case "false":
		return value{tag: tagBool}, true
	case "null":
		return value{}, true
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return intValue(n), true
	}
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		return value{tag: tagUint, n: n}, true
	}
	f, err := strconv.ParseFloat(word, 64)
	return value{tag: tagFloat, n: math.Float64bits(f)}, err == nil || errors.Is(err, strconv.ErrRange)
}

// literal reads a string, whose opening quote is next.
func (r *jsonReader) literal() error {
	r.read = r.read[:0]
	for escaped := false; ; escaped = true {
		r.pos++
		if err := r.run(); err != nil {
			return err
		}
		if r.buf[r.pos] == '"' {
			r.pos++
			return r.unescape(escaped)
		}
		r.read = append(r.read, '\\')
		if r.pos++; !r.have(1) {
			return r.inputEnded()
		}
		r.read = append(r.read, r.buf[r.pos])
	}
}

// run reads what is before the next quote or backslash.
func (r *jsonReader) run() error {
	for r.have(1) {
		run := r.buf[r.pos:r.end]
		n := 0
		for n < len(run) && run[n] != '"' && run[n] != '\\' {
			n++
		}
		if int64(len(r.read)+n) > r.room/jsonMaxShare {
			return r.tooMuch()
		}
		r.read = append(r.read, run[:n]...)
		if r.pos += n; n < len(run) {
			return nil
		}
	}
	return r.inputEnded()
}

// unescape puts characters in the place of the escapes of the string, if it has any.
func (r *jsonReader) unescape(escaped bool) error {
	if !escaped {
		return nil
	}
	var text string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, r.read, []byte{'"'}), &text); err != nil {
		return r.corrupt("JSON: a string with a wrong escape: %v", err)
	}
	r.read = append(r.read[:0], text...)
	return nil
}
