package wire

import (
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/memtop/memtop/snapshots/trace"
)

// steps reads a frame of steps. Its layout is in "Steps in batches" in
// encode_steps.go.
func (d *Decoder) steps(f *Frame, c *cursor) error {
	size := len(d.payload)
	n := c.count(1)
	if n > stepsInFrame || size > stepsLimit {
		return &ruleError{"K2", fmt.Sprintf("%d steps of %d bytes in one frame, more than %d or %d", n, size, stepsInFrame, stepsLimit)}
	}
	if int64(n)*stepBytes+16*int64(len(d.payload)) > d.limits.Message { // an entry of a list is at least two bytes, and 32 in memory
		return tooMuch("its steps take more than %d bytes", d.limits.Message)
	}
	f.Steps = d.batch[:0]
	r := stepReader{c: c}
	for range n {
		r.next()
		f.Steps = append(f.Steps, r.last)
	}
	d.batch = f.Steps
	return nil
}

// stepReader reads steps one after another.
type stepReader struct {
	c    *cursor
	last trace.Step
}

func (r *stepReader) next() {
	c, s := r.c, &r.last
	head := c.number()
	s.Skipped = head&stepSkipped != 0
	s.Device += int(c.signed())
	for _, n := range stepNumbers(s) {
		*n += c.signed()
	}
	s.Loss = math.Float64frombits(lossBits(s.Loss) ^ bits.Reverse64(c.number()))
	for _, l := range stepAmounts(s) {
		if head&l.bit != 0 {
			*l.list = c.amounts(*l.list)
		}
	}
	if head&otherSettings != 0 {
		s.Settings = c.settings()
	}
}

// amounts reads a list of amounts into new memory: earlier steps still use the
// last list.
func (c *cursor) amounts(before []trace.Amount) []trace.Amount {
	head := c.number()
	named, n := head&1 != 0, head>>1
	if n == 0 {
		return nil
	}
	least := uint64(1)
	if named {
		least = 2
	}
	if n > uint64(len(c.b))/least || !named && n > uint64(len(before)) {
		c.fail()
		return nil
	}
	list := make([]trace.Amount, n)
	copy(list, before)
	for i := range list {
		if named {
			list[i].Name = c.word(list[i].Name)
		}
		list[i].Bytes += c.signed()
	}
	return list
}

func (c *cursor) settings() []trace.Value {
	n := c.count(2)
	if n == 0 {
		return nil
	}
	list := make([]trace.Value, n)
	for i := range list {
		list[i] = trace.Value{Key: c.word(""), Value: c.word("")}
	}
	return list
}

// word reads a text, which may repeat the last one. As in JSON, a byte that is no
// UTF-8 becomes the replacement character.
func (c *cursor) word(before string) string {
	text := c.bytes()
	switch {
	case string(text) == before:
		return before
	case utf8.Valid(text):
		return string(text)
	}
	return string([]rune(string(text)))
}
