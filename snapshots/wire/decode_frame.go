package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/cause"
)

// ruleError says why a payload cannot be read, and gives the label of the broken
// rule of docs/protocol.md.
type ruleError struct{ rule, text string }

func (e *ruleError) Error() string { return e.text }

var (
	errMissing   = &ruleError{"O2", "it refers to a missing entry"}
	errUngreeted = &ruleError{"O1", "it comes before hello"}
	// errShort means that a payload breaks the layout rule of its frame type.
	errShort = errors.New("it is cut off, or has an invalid number")
)

// layoutRule returns the rule of docs/protocol.md on the payload layout of a
// frame type.
func (t Type) layoutRule() string {
	switch {
	case t.table():
		return "T1"
	case t == BaseFrame:
		return "B6"
	case t == EventsFrame:
		return "E6"
	case t == SnapshotFrame:
		return "P1"
	case t == TagsFrame:
		return "P6"
	case t == StepsFrame:
		return "K1"
	default:
		return "M1"
	}
}

// unfit returns the error for a frame that does not fit the earlier frames, or
// cannot be decoded. The broken rule is the given one unless err names another.
func (d *Decoder) unfit(t Type, err error, rule string) error {
	e := &CorruptError{
		Offset: d.begin, Reason: fmt.Sprintf("a frame of %s: %s", t, cause.Of(err)), Memory: errors.As(err, new(tooMuchError)), Rule: rule,
	}
	if known := (*ruleError)(nil); errors.As(err, &known) {
		e.Rule = known.rule
	}
	return e
}

// decode makes a frame of the payload. It ignores remaining bytes: a newer minor
// version added them.
func (d *Decoder) decode(t Type) (Frame, error) {
	f := Frame{Type: t}
	if !d.hello && t != HelloFrame {
		return f, errUngreeted
	}
	c := &cursor{b: d.payload}
	var err error
	switch {
	case t == SnapshotFrame:
		err = d.snapshot(&f, c)
	case t == TagsFrame:
		err = d.tags(&f, c)
	case t == StepsFrame:
		err = d.steps(&f, c)
	case t >= firstMessage:
		err = d.message(&f)
	case t.table():
		err = d.table(t, c)
	case t == BaseFrame:
		err = d.base(&f, c)
	default:
		err = d.run(&f, c)
	}
	if err == nil {
		err = c.err()
	}
	return f, err
}

// message reads a frame of JSON.
func (d *Decoder) message(f *Frame) error {
	if len(d.payload) > jsonLimit {
		return &ruleError{"M2", fmt.Sprintf("it has %d bytes, more than %d", len(d.payload), jsonLimit)}
	}
	braces, commas := bytes.Count(d.payload, []byte{'{'}), bytes.Count(d.payload, []byte{','})
	if int64(braceBytes*braces+commaBytes*commas+2*len(d.payload)) > d.limits.Message { // at most, when it is decoded
		return tooMuch("what it says takes more than %d bytes", d.limits.Message)
	}
	d.hello = true
	return json.Unmarshal(d.payload, messages[f.Type].into(f))
}
