package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Steps in batches
//
// A small model makes thousands of nearly equal steps a second. So a frame of
// steps has only the differences from one step to the next. Every frame starts
// from zeros, so that it can be read without earlier frames. The first number of
// a step is a sum of bits.
const (
	stepSkipped = 1 << iota
	// The bits of lists that follow because they differ from those of the last step.
	otherCategories
	otherAtPeak
	otherHost
	otherSettings
)

// The limits of a frame of steps, and the size after which another frame begins.
const (
	stepsInFrame = 4096
	stepsLimit   = 1 << 20
	stepsFrame   = 32 << 10
)

// Steps sends ended steps, in order, to readers of minor version 2. It sends the
// few steps with layers, with the highest values of the program or with copies to the
// host, and very long steps, as Step does.
func (e *Encoder) Steps(steps []*trace.Step) {
	for len(steps) > 0 {
		n := e.stepsFrame(steps)
		if n == 0 {
			e.Step(steps[0])
			n = 1
		}
		steps = steps[n:]
	}
}

// stepsFrame sends the first steps that fit into a frame, and returns how many.
func (e *Encoder) stepsFrame(steps []*trace.Step) (n int) {
	c := stepCoder{buf: e.steps[:0]}
	for ; n < min(len(steps), stepsInFrame) && len(c.buf) < stepsFrame && batches(steps[n]); n++ {
		before := len(c.buf)
		if c.put(steps[n]); len(c.buf) > stepsLimit-binary.MaxVarintLen64 {
			c.buf = c.buf[:before]
			break
		}
	}
	if e.steps = c.buf; n > 0 {
		e.frame()
		e.number(uint64(n))
		e.buf = append(e.buf, c.buf...)
		e.end(StepsFrame)
	}
	return n
}

// batches reports whether a frame of steps has room for all that a step says.
func batches(s *trace.Step) bool {
	return len(s.Layers) == 0 && s.HighestAllocated == 0 && s.ToHost == 0 && s.FromHost == 0
}

// stepCoder writes steps one after another.
type stepCoder struct {
	buf  []byte
	last trace.Step // the one before; zero before the first
}

// stepNumbers are the whole numbers of a step, in the order in which they are sent.
func stepNumbers(s *trace.Step) [9]*int64 {
	return [...]*int64{
		&s.Number, &s.Time, &s.Duration, &s.Tokens, &s.Allocated, &s.Reserved, &s.PeakAllocated, &s.PeakReserved, &s.ProbeNS,
	}
}

// stepAmounts are the lists of amounts, each with its bit.
func stepAmounts(s *trace.Step) [3]stepList {
	return [...]stepList{{otherCategories, &s.Categories}, {otherAtPeak, &s.AtPeak}, {otherHost, &s.Host}}
}

type stepList struct {
	bit  uint64
	list *[]trace.Amount
}

func (c *stepCoder) put(s *trace.Step) {
	last := &c.last
	lists, before := stepAmounts(s), stepAmounts(last)
	head := uint64(0)
	if s.Skipped {
		head |= stepSkipped
	}
	for i, l := range lists {
		if !equalLists(*l.list, *before[i].list) {
			head |= l.bit
		}
	}
	if !equalLists(s.Settings, last.Settings) {
		head |= otherSettings
	}
	c.number(head)
	c.signed(int64(s.Device) - int64(last.Device))
	was := stepNumbers(last)
	for i, n := range stepNumbers(s) {
		c.signed(*n - *was[i])
	}
	c.number(bits.Reverse64(lossBits(s.Loss) ^ lossBits(last.Loss)))
	for i, l := range lists {
		if head&l.bit != 0 {
			c.amounts(*l.list, *before[i].list)
		}
	}
	if head&otherSettings != 0 {
		c.settings(s.Settings)
	}
	*last = *s
}

// lossBits are the bits of a loss. All NaNs have the same bits, as in JSON.
func lossBits(loss float64) uint64 {
	if math.IsNaN(loss) {
		loss = math.NaN()
	}
	return math.Float64bits(loss)
}

// equalLists is slices.Equal, quicker where both are the same list.
func equalLists[T comparable](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// amounts writes a list of amounts, each as its difference from the one in the
// same place of the last step. It writes the names unless they are the same as in
// that step.
func (c *stepCoder) amounts(list, before []trace.Amount) {
	named := uint64(0)
	for i := range list {
		if i >= len(before) || list[i].Name != before[i].Name {
			named = 1
			break
		}
	}
	c.number(uint64(len(list))<<1 | named)
	for i := range list {
		if named != 0 {
			c.text(list[i].Name)
		}
		c.signed(list[i].Bytes - bytesAt(before, i))
	}
}

func bytesAt(list []trace.Amount, i int) int64 {
	if i < len(list) {
		return list[i].Bytes
	}
	return 0
}

func (c *stepCoder) settings(list []trace.Value) {
	c.number(uint64(len(list)))
	for i := range list {
		c.text(list[i].Key)
		c.text(list[i].Value)
	}
}

func (c *stepCoder) number(n uint64) { c.buf = binary.AppendUvarint(c.buf, n) }

func (c *stepCoder) signed(n int64) { c.buf = binary.AppendVarint(c.buf, n) }

func (c *stepCoder) text(s string) {
	c.number(uint64(len(s)))
	c.buf = append(c.buf, s...)
}
