package alloc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// OOMError reports a request that failed for lack of memory: the request, and
// what holds the memory. It is an [ErrNoMemory].
type OOMError struct {
	Device    string
	Requested int64  // bytes, as asked for
	Rounded   int64  // the size of a block for it
	Segment   int64  // the size of the segment that the driver was asked for
	Stream    Stream // the stream of the request
	For       Label  // the purpose of the request

	Free     int64 // free bytes of the device
	Total    int64 // bytes that the device has
	Limit    int64 // bytes that the allocator may reserve, −1 when not limited
	Memory   Breakdown
	Holders  []Holder // the holders with the most bytes, the largest first
	TooLarge bool     // refused without a try: more than any device has
	Rejected bool     // refused by throw_on_cudamalloc_oom, and not recorded as an event
}

// Holder is memory that is in use for one purpose, allocated at one place.
type Holder struct {
	Label  Label
	Stack  trace.StackID // in the allocator's [Names]; 0 when not recorded
	Where  string        // the stack's innermost frame, "" when not recorded
	Bytes  int64         // as requested
	Blocks int
}

// holderCount is how many holders an error keeps. holdersTold is how many its one
// line names.
const (
	holderCount = 5
	holdersTold = 2
)

// Is makes every OOMError an ErrNoMemory.
func (e *OOMError) Is(target error) bool { return target == ErrNoMemory }

// Error is one line.
func (e *OOMError) Error() string {
	if e.TooLarge {
		return fmt.Sprintf("%s: out of memory: %d bytes requested, more than 1 EiB", e.Device, e.Requested)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: out of memory: %d bytes requested", e.Device, e.Requested)
	if name := e.For.String(); name != "" {
		fmt.Fprintf(&b, " for %s", name)
	}
	fmt.Fprintf(&b, " (%d rounded, in a segment of %s); the device has %s free of %s", e.Rounded,
		sizeText(e.Segment), sizeText(e.Free), sizeText(e.Total))
	if e.Limit >= 0 {
		fmt.Fprintf(&b, ", %s allowed", sizeText(e.Limit))
	}
	fmt.Fprintf(&b, "; reserved %s, of it in use %s", sizeText(e.Memory.Reserved), sizeText(e.Memory.Requested()))
	b.WriteString(e.inUse())
	if e.Rejected {
		b.WriteString("; throw_on_cudamalloc_oom refused it with the cache still full")
	}
	for i, h := range e.Holders[:min(len(e.Holders), holdersTold)] {
		fmt.Fprintf(&b, "%s %s", [2]string{"; most by", ","}[min(i, 1)], &h)
	}
	return b.String()
}

// inUse returns the categories of the memory in use, the largest first: "
// (optimizer 25.11 MiB, parameter 12.55 MiB)".
func (e *OOMError) inUse() string {
	var used []trace.Category
	for c, bytes := range e.Memory.Category {
		if bytes > 0 {
			used = append(used, trace.Category(c))
		}
	}
	if len(used) == 0 {
		return ""
	}
	slices.SortStableFunc(used, func(x, y trace.Category) int { return cmp.Compare(e.Memory.Category[y], e.Memory.Category[x]) })
	words := make([]string, len(used))
	for i, c := range used {
		words[i] = c.String() + " " + sizeText(e.Memory.Category[c])
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// String returns "activation blocks.3.attn softmax probs: 1.50 GiB in 24 blocks",
// and adds the place if there is no layer: "other: 1.50 GiB in 2 blocks (at
// cache.go:12 main.grow)".
func (h *Holder) String() string {
	name := h.Label.String()
	if name == "" {
		name = h.Label.Category.String()
	}
	text := fmt.Sprintf("%s: %s in %d blocks", name, sizeText(h.Bytes), h.Blocks)
	if h.Where != "" && h.Label.Layer == "" {
		text += " (at " + h.Where + ")"
	}
	return text
}

// String returns the label's words, "" for an empty label.
func (l Label) String() string {
	if l == (Label{}) {
		return ""
	}
	words := []string{l.Category.String(), l.Layer, l.Role, l.Shape, l.DType}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// sizeText returns bytes as PyTorch's message has them, "1.50 GiB".
func sizeText(n int64) string {
	f := float64(n)
	switch {
	case n <= 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n <= 1<<20:
		return fmt.Sprintf("%.2f KiB", f/(1<<10))
	case n <= 1<<30:
		return fmt.Sprintf("%.2f MiB", f/(1<<20))
	default:
		return fmt.Sprintf("%.2f GiB", f/(1<<30))
	}
}

func deviceName(device int) string { return fmt.Sprintf("device %d", device) }

// outOfMemory counts and records the failure of a request.
func (a *Allocator) outOfMemory(q *request) *OOMError {
	e := a.shortage(q)
	a.record(trace.OOM, uint64(e.Free), q.rounded, q.stream, q.stack, q.tag)
	a.stats.OOMs++
	return e
}

// rejection is the failure of a request that the settings forbid to try.
func (a *Allocator) rejection(q *request) *OOMError {
	e := a.shortage(q)
	e.Rejected = true
	return e
}

// shortage says what holds the memory that a request lacks.
func (a *Allocator) shortage(q *request) *OOMError {
	e := &OOMError{
		Device: a.name, Requested: q.bytes, Rounded: q.rounded, Segment: q.segment, Stream: q.stream.handle,
		For: a.names.Label(q.tag), Limit: -1, Memory: a.stats.Breakdown(), Holders: a.holders(),
	}
	e.Free, e.Total = a.driver.MemInfo()
	if a.limited {
		e.Limit = a.limit
	}
	return e
}

func (a *Allocator) tooLarge(q *request) *OOMError {
	return &OOMError{Device: a.name, Requested: q.bytes, For: a.names.Label(q.tag), Limit: -1, TooLarge: true}
}

// holders returns the holders with the most bytes of allocated blocks.
func (a *Allocator) holders() []Holder {
	type purpose struct {
		tag   Tag
		stack trace.StackID
	}
	sums := make(map[purpose]*Holder)
	var list []*Holder
	for _, s := range a.segments {
		for b := s.first; b != nil; b = b.next {
			if !b.allocated() {
				continue
			}
			p := purpose{b.tag, b.stack}
			if sums[p] == nil {
				sums[p] = &Holder{Label: a.names.Label(b.tag), Stack: b.stack}
				list = append(list, sums[p])
			}
			sums[p].Bytes += b.requested
			sums[p].Blocks++
		}
	}
	slices.SortStableFunc(list, func(x, y *Holder) int { return cmp.Compare(y.Bytes, x.Bytes) })
	var largest []Holder
	for _, h := range list[:min(len(list), holderCount)] {
		h.Where = a.names.where(h.Stack)
		largest = append(largest, *h)
	}
	return largest
}

// tellOOM calls the observers, unlocked.
func (a *Allocator) tellOOM(e *OOMError) {
	a.mu.Lock()
	observers := slices.Clone(a.onOOM)
	a.mu.Unlock()
	for _, f := range observers {
		f(e)
	}
}
