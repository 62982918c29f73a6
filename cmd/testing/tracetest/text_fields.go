package tracetest

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// textFields takes the words of one line apart. The first error stays; after
// it everything reads as nothing.
type textFields struct {
	p    *textReader
	rest string
	err  error
}

func (f *textFields) fail(format string, values ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, values...)
	}
	f.rest = ""
}

func (f *textFields) unknown(key string) { f.fail("%.20q does not belong here", key) }

// next returns the next word, "" at the end. Text in quotes belongs to the
// word it stands in, white space and all.
func (f *textFields) next() string {
	f.rest = strings.TrimLeft(f.rest, " \t")
	end := 0
	for end < len(f.rest) && f.rest[end] != ' ' && f.rest[end] != '\t' {
		if f.rest[end] != '"' {
			end++
			continue
		}
		prefix, err := strconv.QuotedPrefix(f.rest[end:])
		if err != nil {
			f.fail("text in quotes does not end")
			return ""
		}
		end += len(prefix)
	}
	word := f.rest[:end]
	f.rest = f.rest[end:]
	return word
}

// attributes returns the words that are left as key and value. A word without
// = has no value; @N has the key @.
func (f *textFields) attributes() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for word := f.next(); word != ""; word = f.next() {
			if word[0] == '@' {
				if !yield("@", word[1:]) {
					return
				}
				continue
			}
			if key, value, _ := strings.Cut(word, "="); !yield(key, value) {
				return
			}
		}
	}
}

func (f *textFields) text(word string) string {
	if len(word) < 2 || word[0] != '"' {
		f.fail("%.20q is not text in quotes", word)
		return ""
	}
	s, err := strconv.Unquote(word)
	if err != nil {
		f.fail("%.20q is not text in quotes", word)
	}
	return s
}

// name interns text; - is none.
func (f *textFields) name(word string) trace.StringID {
	if word == "-" {
		return 0
	}
	if s := f.text(word); f.err == nil {
		return f.p.in.String(s)
	}
	return 0
}

func (f *textFields) integer(word string) int64 {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		f.fail("%.20q is not a whole number of 64 bits", word)
	}
	return n
}

func (f *textFields) integer32(word string) int32 {
	n, err := strconv.ParseInt(word, 0, 32)
	if err != nil {
		f.fail("%.20q is not a whole number of 32 bits", word)
	}
	return int32(n)
}

func (f *textFields) address(word string) uint64 {
	n, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		f.fail("%.20q is not an address", word)
	}
	return n
}

func (f *textFields) boolean(word string) bool {
	if word != "true" && word != "false" {
		f.fail("%.20q is neither true nor false", word)
	}
	return word == "true"
}

func (f *textFields) stream(word string) trace.StreamID { return f.p.in.Stream(f.address(word)) }

func (f *textFields) pool(word string) trace.PoolID {
	first, second, _ := strings.Cut(word, ",")
	return f.p.in.Pool(trace.Pool{f.integer(first), f.integer(second)})
}

func (f *textFields) stack(label string) trace.StackID {
	if label == "-" {
		return trace.EmptyStack
	}
	id, ok := f.p.stacks[label]
	if !ok {
		f.fail("there is no stack %.20q yet", label)
	}
	return id
}

func (f *textFields) note(label string) trace.NoteID {
	id, ok := f.p.notes[label]
	if !ok {
		f.fail("there is no note %.20q yet", label)
	}
	return id
}

// label returns the label that the line gives its subject.
func (f *textFields) label(taken func(string) bool) string {
	label := strings.Clone(f.next())
	switch {
	case label == "" || label == "-":
		f.fail("a label is missing")
	case taken(label):
		f.fail("the label %.20q is taken", label)
	}
	return label
}
