package tracetest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// value appends a setting's value.
func (p *textWriter) value(v any, depth int) {
	if depth > textDepthLimit && p.err == nil {
		p.err = fmt.Errorf("a setting is nested more than %d deep", textDepthLimit)
		return
	}
	switch v := v.(type) {
	case nil:
		p.buf = append(p.buf, "null"...)
	case bool:
		p.buf = strconv.AppendBool(p.buf, v)
	case int64:
		p.buf = strconv.AppendInt(p.buf, v, 10)
	case uint64:
		p.buf = strconv.AppendUint(p.buf, v, 10)
	case float64:
		p.float(v)
	case string:
		p.buf = strconv.AppendQuote(p.buf, v)
	case []any:
		p.buf = append(p.buf, '[')
		for i, item := range v {
			p.comma(i)
			p.value(item, depth+1)
		}
		p.buf = append(p.buf, ']')
	case []trace.Setting:
		p.buf = append(p.buf, '{')
		for i, s := range v {
			p.comma(i)
			p.buf = append(strconv.AppendQuote(p.buf, s.Key), ": "...)
			p.value(s.Value, depth+1)
		}
		p.buf = append(p.buf, '}')
	default:
		p.err = fmt.Errorf("a setting has a value of type %T", v)
	}
}

func (p *textWriter) comma(i int) {
	if i > 0 {
		p.buf = append(p.buf, ", "...)
	}
}

func (p *textWriter) float(f float64) {
	switch {
	case math.IsNaN(f):
		p.buf = append(p.buf, "nan"...)
	case math.IsInf(f, 1):
		p.buf = append(p.buf, "+inf"...)
	case math.IsInf(f, -1):
		p.buf = append(p.buf, "-inf"...)
	default:
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		p.buf = append(p.buf, text...)
	}
}

// textValue reads one value from the start of a text.
type textValue struct {
	rest string
}

// space skips white space and returns the next byte, 0 at the end.
func (v *textValue) space() byte {
	v.rest = strings.TrimLeft(v.rest, " \t")
	if v.rest == "" {
		return 0
	}
	return v.rest[0]
}

func (v *textValue) read(depth int) (any, error) {
	switch c := v.space(); {
	case depth > textDepthLimit:
		return nil, fmt.Errorf("nested more than %d deep", textDepthLimit)
	case c == '"':
		return v.quoted()
	case c == '[':
		list := []any{}
		err := v.items(']', func() error {
			item, err := v.read(depth + 1)
			list = append(list, item)
			return err
		})
		return list, err
	case c == '{':
		dict := []trace.Setting{}
		err := v.items('}', func() error {
			s, err := v.entry(depth)
			dict = append(dict, s)
			return err
		})
		return dict, err
	default:
		return v.scalar()
	}
}

func (v *textValue) quoted() (string, error) {
	prefix, err := strconv.QuotedPrefix(v.rest)
	if err != nil || prefix[0] != '"' {
		return "", fmt.Errorf("%.20q does not begin with text in quotes", v.rest)
	}
	v.rest = v.rest[len(prefix):]
	return strconv.Unquote(prefix)
}

func (v *textValue) entry(depth int) (trace.Setting, error) {
	v.space()
	key, err := v.quoted()
	if err != nil {
		return trace.Setting{}, err
	}
	if v.space() != ':' {
		return trace.Setting{}, fmt.Errorf("no colon after %.20q", key)
	}
	v.rest = v.rest[1:]
	value, err := v.read(depth + 1)
	return trace.Setting{Key: key, Value: value}, err
}

// items reads what stands between two brackets, the first of which is next.
func (v *textValue) items(closing byte, item func() error) error {
	v.rest = v.rest[1:]
	if v.space() == closing {
		v.rest = v.rest[1:]
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		c := v.space()
		if c != ',' && c != closing {
			return fmt.Errorf("no comma or %q", closing)
		}
		v.rest = v.rest[1:]
		if c == closing {
			return nil
		}
	}
}

func (v *textValue) scalar() (any, error) {
	end := strings.IndexAny(v.rest, " \t,]}:")
	if end < 0 {
		end = len(v.rest)
	}
	word := v.rest[:end]
	v.rest = v.rest[end:]
	switch word {
	case "null":
		return nil, nil
	case "true", "false":
		return word == "true", nil
	case "nan":
		return math.NaN(), nil
	case "+inf", "-inf":
		return math.Inf(map[byte]int{'+': 1, '-': -1}[word[0]]), nil
	}
	if n, err := strconv.ParseInt(word, 0, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(word, 0, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil && strings.ContainsAny(word, ".eE") {
		return f, nil
	}
	return nil, fmt.Errorf("%.20q is not a value", word)
}
