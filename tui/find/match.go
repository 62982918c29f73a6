// Package find looks for text in all events of a device: actions, addresses,
// sizes, frames and metadata. It compares shared data, mainly frames, once for
// all events.
package find

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// Matcher decides whether an event matches a query. It is safe for concurrent
// use once made.
type Matcher struct {
	query  string
	tables *trace.Tables
	once   sync.Once
	terms  []term
}

// New returns a matcher for a query: words that must all match, each as part
// of an action, of an address (0x…, or long enough to be nothing else), of a
// frame or of metadata, or as a size, in bytes or as shown; or ">1MiB" and
// "<1MiB" for sizes. Case is ignored.
func New(t *trace.Tables, query string) *Matcher { return &Matcher{query: query, tables: t} }

// Query returns the text that is looked for.
func (m *Matcher) Query() string { return m.query }

// knows reports whether the matcher was made with all entries of t: tables only
// grow.
func (m *Matcher) knows(t *trace.Tables) bool {
	return m.tables.StackCount() == t.StackCount() && len(m.tables.Notes) == len(t.Notes)
}

// term is one word of a query, with its results for all interned entries.
type term struct {
	kinds  [trace.KindCount]bool
	stacks []bool
	notes  []bool
	hex    string
	digits string
	sized  string
	least  int64
	most   int64
	bound  bool
}

func (m *Matcher) prepare() {
	for word := range strings.FieldsSeq(strings.ToLower(m.query)) {
		m.terms = append(m.terms, newTerm(m.tables, word))
	}
}

func newTerm(t *trace.Tables, word string) term {
	if least, most, ok := parseBound(word); ok {
		return term{bound: true, least: least, most: most}
	}
	tm := term{stacks: make([]bool, t.StackCount()), notes: make([]bool, len(t.Notes))}
	for k := range trace.KindCount {
		tm.kinds[k] = strings.Contains(trace.Kind(k).String(), word)
	}
	frames := matchFrames(t, word)
	for id := range tm.stacks {
		tm.stacks[id] = slices.ContainsFunc(t.Stack(trace.StackID(id)), func(f trace.FrameID) bool { return frames[f] })
	}
	for id := range t.Notes {
		tm.notes[id] = noteHas(t, &t.Notes[id], word)
	}
	tm.numbers(word)
	return tm
}

// numbers prepares the word for addresses and sizes, if it can be part of one.
func (tm *term) numbers(word string) {
	hex, prefixed := strings.CutPrefix(word, "0x")
	long := len(hex) >= 6 && (strings.ContainsAny(hex, "abcdef") || len(hex) >= 9)
	if hex != "" && (prefixed || long) && strings.Trim(hex, "0123456789abcdef") == "" {
		tm.hex = hex
	}
	if word[0] < '0' || word[0] > '9' {
		return
	}
	if strings.Trim(word, "0123456789") == "" {
		tm.digits = word
	} else if strings.HasSuffix(word, "b") {
		tm.sized = word
	}
}

// matchFrames compares the word with every frame's "file:line function", each
// string of the table once.
func matchFrames(t *trace.Tables, word string) []bool {
	has := make([]bool, len(t.Strings))
	for id, s := range t.Strings {
		has[id] = containsFold(s, word)
	}
	line := strings.Contains(word, ":")
	frames := make([]bool, len(t.Frames))
	for id, f := range t.Frames {
		if id == 0 {
			continue // no frame at all
		}
		frames[id] = has[f.File] || has[f.Name] || line && containsFold(t.FrameText(trace.FrameID(id)), word)
	}
	return frames
}

func noteHas(t *trace.Tables, n *trace.Note, word string) bool {
	for _, id := range n.Texts() {
		if *id != 0 && containsFold(t.String(*id), word) {
			return true
		}
	}
	if containsFold(t.String(n.Internal), word) {
		return true
	}
	return slices.ContainsFunc(t.Lists[n.Forward], func(id trace.StringID) bool { return containsFold(t.String(id), word) })
}

// containsFold reports whether s contains the lower-case word, ignoring case.
func containsFold(s, word string) bool {
	return strings.Contains(s, word) || strings.Contains(strings.ToLower(s), word)
}

// parseBound reads ">1MiB" or "<1MiB".
func parseBound(word string) (least, most int64, ok bool) {
	if len(word) < 2 || word[0] != '<' && word[0] != '>' {
		return 0, 0, false
	}
	n, err := quantity.ParseBytes(word[1:])
	if word[0] == '>' {
		return n + 1, 1<<63 - 1, err == nil
	}
	return -1 << 63, n - 1, err == nil
}

// Event reports whether the event matches.
func (m *Matcher) Event(e *trace.Event) bool {
	m.once.Do(m.prepare)
	for i := range m.terms {
		if !m.terms[i].event(e) {
			return false
		}
	}
	return true
}

func (tm *term) event(e *trace.Event) bool {
	if tm.bound {
		return e.Absent&trace.NoSize == 0 && e.Size >= tm.least && e.Size <= tm.most
	}
	if tm.kinds[e.Kind] || tm.stacks[e.Stack] || tm.notes[e.Note] {
		return true
	}
	var buffer [24]byte
	if tm.hex != "" && e.Absent&trace.NoAddr == 0 {
		if strings.Contains(string(strconv.AppendUint(buffer[:0], e.Addr, 16)), tm.hex) {
			return true
		}
	}
	if tm.digits != "" && string(strconv.AppendInt(buffer[:0], e.Size, 10)) == tm.digits {
		return true
	}
	return tm.sized != "" && sizeText(e.Size) == tm.sized
}

// sizeText is a size as it is typed: "1.5gib".
func sizeText(n int64) string {
	return strings.ToLower(strings.ReplaceAll(screen.Bytes(n), " ", ""))
}

// Text reports whether a shown text matches a query: every word of it is part of
// the text, ignoring case.
func Text(text, query string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
