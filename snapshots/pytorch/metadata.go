package pytorch

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// metadataValues and metadataLength bound the text made of metadata that is not
// a string: many entries may refer to one big dict.
const (
	metadataValues = 64
	metadataLength = 4 << 10
)

// metadata returns the user metadata of an entry, as text. PyTorch writes a
// string, and its viewer also shows dicts; dicts become "key: value, …".
func (m *machine) metadata(f *fields) trace.StringID {
	if f.have&(1<<nameUserMetadata) == 0 {
		return 0
	}
	v := m.resolve(f.value[nameUserMetadata])
	var known *trace.StringID
	switch v.tag {
	case tagDict:
		known = &m.dicts[v.id].text
	case tagList:
		known = &m.lists.at(v.id).text
	default:
		return m.string(f, nameUserMetadata)
	}
	if *known == 0 { // made once: many entries may refer to it
		budget := metadataValues
		*known = m.in.Bytes(appendPlain(nil, m.plain(v, settingsDepth, &budget)))
	}
	return *known
}

// appendPlain appends the text of a value that plain made. Containers within
// containers are in brackets.
func appendPlain(b []byte, v any) []byte {
	between := func(i int) {
		if i > 0 {
			b = append(b, ", "...)
		}
	}
	switch v := v.(type) {
	case []trace.Setting:
		for i, s := range v {
			between(i)
			b = appendInner(append(appendText(b, s.Key), ": "...), s.Value)
		}
	case []any:
		for i, item := range v {
			between(i)
			b = appendInner(b, item)
		}
	case string:
		return appendText(b, v)
	case nil:
		return append(b, "None"...)
	default: // a number or a boolean
		return fmt.Append(b, v)
	}
	return b
}

func appendInner(b []byte, v any) []byte {
	switch v.(type) {
	case []trace.Setting:
		return append(appendPlain(append(b, '{'), v), '}')
	case []any:
		return append(appendPlain(append(b, '['), v), ']')
	default:
		return appendPlain(b, v)
	}
}

// appendText appends s, cut at a character where it gets too long.
func appendText(b []byte, s string) []byte {
	return append(b, trace.Shorten(s, max(metadataLength-len(b), 0))...)
}
