package pytorch

import "fmt"

// jsonKind is the kind of a JSON token.
type jsonKind uint8

const (
	jsonEnd jsonKind = iota // the top-level value is complete
	jsonObject
	jsonObjectEnd
	jsonArray
	jsonArrayEnd
	jsonKey
	jsonString
	jsonInt // fits a uint64, or an int64 when negative
	jsonFloat
	jsonBool
	jsonNull
)

// Bounds on the cost of one token of a hostile file.
const (
	jsonMaxDepth  = 1000
	jsonMaxNumber = 400
	jsonMaxShare  = 8 // of the memory that the contents may take, for one string
)

// jsonScanner reads JSON token by token in constant memory, and stops reading
// at the end of the top-level value. It accepts what Python's json writes,
// NaN and Infinity included. It is owned by one goroutine.
type jsonScanner struct {
	*window
	open  []byte // '{' and '[' that are not closed yet
	state jsonState

	text     []byte // of a key or string; valid until the next token
	integer  uint64 // magnitude of a jsonInt
	negative bool
	float    float64
	truth    bool
}

// jsonState is what the scanner expects next.
type jsonState uint8

const (
	wantValue jsonState = iota
	wantFirstKey
	wantKey
	wantFirstItem
	wantCommaOrEnd
	wantNothing
)

// corrupt returns a damage report at the current place.
func (s *jsonScanner) corrupt(format string, values ...any) error {
	return &CorruptError{Offset: s.offset(), Reason: fmt.Sprintf(format, values...)}
}

// next returns the next token, jsonEnd after the last. A stream that ends
// within the value gives errTruncated; any other error of the reader is
// returned unchanged.
func (s *jsonScanner) next() (jsonKind, error) {
	if s.state == wantNothing {
		return jsonEnd, nil
	}
	c, err := s.skipSpace()
	if err != nil {
		return jsonEnd, err
	}
	if s.state == wantCommaOrEnd {
		if c == s.closing() {
			return s.close()
		}
		if c != ',' {
			return jsonEnd, s.corrupt("JSON: %q where a comma or %q is expected", c, s.closing())
		}
		s.pos++
		s.state = wantValue
		if s.inObject() {
			s.state = wantKey
		}
		if c, err = s.skipSpace(); err != nil {
			return jsonEnd, err
		}
	}
	if (s.state == wantFirstKey || s.state == wantFirstItem) && c == s.closing() {
		return s.close()
	}
	if s.state == wantFirstKey || s.state == wantKey {
		return s.key(c)
	}
	return s.value(c)
}

func (s *jsonScanner) inObject() bool { return len(s.open) > 0 && s.open[len(s.open)-1] == '{' }

func (s *jsonScanner) closing() byte {
	if s.inObject() {
		return '}'
	}
	return ']'
}

func (s *jsonScanner) close() (jsonKind, error) {
	kind := jsonArrayEnd
	if s.inObject() {
		kind = jsonObjectEnd
	}
	s.pos++
	s.open = s.open[:len(s.open)-1]
	s.ended()
	return kind, nil
}

// ended notes that a value is complete.
func (s *jsonScanner) ended() {
	s.state = wantCommaOrEnd
	if len(s.open) == 0 {
		s.state = wantNothing
	}
}

func (s *jsonScanner) key(c byte) (jsonKind, error) {
	if c != '"' {
		return jsonEnd, s.corrupt("JSON: %q where a key is expected", c)
	}
	if err := s.string(); err != nil {
		return jsonEnd, err
	}
	c, err := s.skipSpace()
	if err != nil {
		return jsonEnd, err
	}
	if c != ':' {
		return jsonEnd, s.corrupt("JSON: %q where a colon is expected", c)
	}
	s.pos++
	s.state = wantValue
	return jsonKey, nil
}

func (s *jsonScanner) value(c byte) (jsonKind, error) {
	switch {
	case c == '{':
		return jsonObject, s.enter('{', wantFirstKey)
	case c == '[':
		return jsonArray, s.enter('[', wantFirstItem)
	case c == '"':
		err := s.string()
		s.ended()
		return jsonString, err
	case c != '+' && c != '.' && inWord(c):
		kind, err := s.word()
		s.ended()
		return kind, err
	default:
		return jsonEnd, s.corrupt("JSON: %q where a value is expected", c)
	}
}

func (s *jsonScanner) enter(bracket byte, state jsonState) error {
	if len(s.open) >= jsonMaxDepth {
		return s.corrupt("JSON: nested more than %d deep", jsonMaxDepth)
	}
	s.pos++
	s.open = append(s.open, bracket)
	s.state = state
	return nil
}

func (s *jsonScanner) skipSpace() (byte, error) {
	for {
		for ; s.pos < s.end; s.pos++ {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c, nil
			}
		}
		if _, err := s.peek(); err != nil {
			return 0, err
		}
	}
}

// peek returns the next byte.
func (s *jsonScanner) peek() (byte, error) {
	switch {
	case s.have(1):
		return s.buf[s.pos], nil
	case s.err != nil:
		return 0, s.err
	default:
		return 0, errTruncated
	}
}
