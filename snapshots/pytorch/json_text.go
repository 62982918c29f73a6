package pytorch

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// number reads a number into integer or float.
func (s *jsonScanner) number() (jsonKind, error) {
	s.text = s.text[:0]
	for {
		c, err := s.peek()
		if errors.Is(err, errTruncated) && len(s.open) == 0 {
			break
		}
		if err != nil {
			return jsonEnd, err
		}
		if !numeric(c) {
			break
		}
		if len(s.text) == jsonMaxNumber {
			return jsonEnd, s.corrupt("JSON: a number of more than %d digits", jsonMaxNumber)
		}
		s.text = append(s.text, c)
		s.pos++
	}
	digits := s.text
	if s.negative = digits[0] == '-'; s.negative {
		digits = digits[1:]
	}
	return s.longNumber(string(digits))
}

func numeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// longNumber reads any other number. Integers beyond 64 bits become floats.
func (s *jsonScanner) longNumber(digits string) (jsonKind, error) {
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
		s.pos += n
		if n == len(run) {
			continue
		}
		s.pos++
		if run[n] == '"' {
			return nil
		}
		if err := s.escape(); err != nil {
			return err
		}
	}
}

// escape reads an escape after its backslash.
func (s *jsonScanner) escape() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	s.pos++
	if c == 'u' {
		return s.unicodeEscape()
	}
	const escapes, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	at := strings.IndexByte(escapes, c)
	if at < 0 {
		return s.corrupt("JSON: unknown escape of %q", c)
	}
	s.text = append(s.text, meanings[at])
	return nil
}

// unicodeEscape reads the digits of a \u escape, and the second half of a
// surrogate pair.
func (s *jsonScanner) unicodeEscape() error {
	r, err := s.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		if c, err := s.peek(); err != nil || c != '\\' {
			s.text = utf8.AppendRune(s.text, utf8.RuneError)
			return err
		}
		s.pos++
		if c, err := s.peek(); err != nil || c != 'u' {
			s.text = utf8.AppendRune(s.text, utf8.RuneError)
			if err != nil {
				return err
			}
			return s.escape()
		}
		s.pos++
		low, err := s.hex()
		if err != nil {
			return err
		}
		r = utf16.DecodeRune(r, low)
	}
	s.text = utf8.AppendRune(s.text, r)
	return nil
}

func (s *jsonScanner) hex() (rune, error) {
	var r rune
	for range 4 {
		c, err := s.peek()
		if err != nil {
			return 0, err
		}
		digit, err := strconv.ParseUint(string(c), 16, 8)
		if err != nil {
			return 0, s.corrupt("JSON: %q in a \\u escape", c)
		}
		r = r<<4 | rune(digit)
		s.pos++
	}
	return r, nil
}
