package pytorch

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/memtop/memtop/snapshots/trace"
)

// DecodeJSON reads a snapshot that was saved as JSON: the same records as in
// the pickle, with lists for tuples. It gives the same guarantees as [Decode].
// Bytes after the JSON are ignored.
func DecodeJSON(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	m := newMachine(ctx, r, o)
	defer m.release()
	d := jsonDriver{machine: m, scan: jsonScanner{window: m.window}}
	err := d.run()
	if errors.Is(err, errTruncated) {
		err = m.salvage()
	}
	if err != nil {
		return nil, err
	}
	return m.finish()
}

// jsonDriver drives the machine as a pickle of the same data would.
type jsonDriver struct {
	*machine
	scan jsonScanner
	// pending counts, for every open container, the items above its mark.
	pending []int
}

func (d *jsonDriver) run() error {
	for {
		kind, err := d.scan.next()
		if err != nil || kind == jsonEnd {
			return err
		}
		if err := d.step(kind); err != nil {
			return err
		}
	}
}

func (d *jsonDriver) step(kind jsonKind) error {
	switch kind {
	case jsonObject:
		return d.begin(value{tag: tagDict})
	case jsonArray:
		return d.begin(value{tag: tagList})
	case jsonObjectEnd, jsonArrayEnd:
		if err := d.flush(kind == jsonObjectEnd); err != nil {
			return err
		}
		d.pending = d.pending[:len(d.pending)-1]
		return d.item()
	case jsonKey:
		return d.text(d.scan.text)
	case jsonString:
		if err := d.text(d.scan.text); err != nil {
			return err
		}
		return d.item()
	default:
		if err := d.push(d.scan.scalar(kind)); err != nil {
			return err
		}
		return d.item()
	}
}

func (d *jsonDriver) begin(container value) error {
	if err := d.push(container); err != nil {
		return err
	}
	d.pending = append(d.pending, 0)
	return d.mark()
}

// item counts a complete value. Like Python's pickler it hands items over in
// batches, so the stack never holds a list of a million events.
func (d *jsonDriver) item() error {
	if len(d.pending) == 0 {
		return nil
	}
	top := &d.pending[len(d.pending)-1]
	if *top++; *top < batch {
		return nil
	}
	*top = 0
	if err := d.flush(d.scan.inObject()); err != nil {
		return err
	}
	return d.mark()
}

// flush puts the items above the last mark into their container.
func (d *jsonDriver) flush(object bool) error {
	if d.floor() == len(d.stack) {
		_, err := d.popMark()
		return err
	}
	if object {
		return d.setItems()
	}
	return d.appends()
}

// scalar returns the value of the last token.
func (s *jsonScanner) scalar(kind jsonKind) value {
	switch {
	case kind == jsonBool && s.truth:
		return value{tag: tagBool, n: 1}
	case kind == jsonBool:
		return value{tag: tagBool}
	case kind == jsonFloat:
		return value{tag: tagFloat, n: math.Float64bits(s.float)}
	case kind != jsonInt:
		return value{tag: tagNone}
	case s.negative && s.integer <= 1<<63:
		return intValue(-int64(s.integer))
	case s.negative:
		return value{tag: tagFloat, n: math.Float64bits(-float64(s.integer))}
	case s.integer > math.MaxInt64:
		return value{tag: tagUint, n: s.integer}
	default:
		return intValue(int64(s.integer))
	}
}
