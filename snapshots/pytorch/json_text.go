package pytorch

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// word reads a number or one of the words of JSON.
func (s *jsonScanner) word() (jsonKind, error) {
	s.text = s.text[:0]
	for {
		c, err := s.peek()
		if errors.Is(err, errTruncated) && len(s.open) == 0 {
			break
		}
		if err != nil {
			return jsonEnd, err
		}
		if !inWord(c) {
			break
		}
		if len(s.text) == jsonMaxNumber {
			return jsonEnd, s.corrupt("JSON: a number of more than %d digits", jsonMaxNumber)
		}
		s.text = append(s.text, c)
		s.pos++
	}
	switch word := string(s.text); word {
	case "true", "false":
		s.truth = word == "true"
		return jsonBool, nil
	case "null":
		return jsonNull, nil
	default:
		digits, negative := strings.CutPrefix(word, "-")
		s.negative = negative
		return s.number(digits)
	}
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// number reads digits into integer or float. Integers beyond 64 bits become floats.
func (s *jsonScanner) number(digits string) (jsonKind, error) {
	if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
		s.integer = n
		return jsonInt, nil
	}
	switch digits {
	case "NaN":
		s.float = math.NaN()
		return jsonFloat, nil
	case "Infinity":
		s.float = math.Inf(1)
	default:
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || digits == "" || digits[0] > '9' {
			return jsonEnd, s.corrupt("JSON: %q is not a number", digits)
		}
		s.float = f
	}
	if s.negative {
		s.float = -s.float
	}
	return jsonFloat, nil
}

// string reads a string, whose opening quote is next, into text.
func (s *jsonScanner) string() error {
	s.pos++
	s.text = s.text[:0]
	for escaped := false; ; escaped = true {
		if err := s.run(); err != nil {
			return err
		}
		s.pos++
		if s.buf[s.pos-1] == '"' {
			return s.unescape(escaped)
		}
		c, err := s.peek()
		if err != nil {
			return err
		}
		s.text = append(s.text, '\\', c)
		s.pos++
	}
}

// run adds to text what is before the next quote or backslash.
func (s *jsonScanner) run() error {
	for {
		if _, err := s.peek(); err != nil {
			return err
		}
		run := s.buf[s.pos:s.end]
		n := 0
		for n < len(run) && run[n] != '"' && run[n] != '\\' {
			n++
		}
		if int64(len(s.text)+n) > s.room/jsonMaxShare {
			return s.tooMuch()
		}
		s.text = append(s.text, run[:n]...)
		if s.pos += n; n < len(run) {
			return nil
		}
	}
}

// unescape puts characters in the place of the escapes of text, if it has any.
func (s *jsonScanner) unescape(escaped bool) error {
	if !escaped {
		return nil
	}
	var text string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, s.text, []byte{'"'}), &text); err != nil {
		return s.corrupt("JSON: a string with a wrong escape: %v", err)
	}
	s.text = append(s.text[:0], text...)
	return nil
}
