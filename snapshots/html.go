package snapshots

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/memtop/memtop/snapshots/trace"
)

// base64Mark is what a page is searched for. trace_plot and its kin embed snapshots,
// each an object with a name and the pickle as base64.
var (
	base64Mark = []byte(`"base64"`)

	nameBefore = regexp.MustCompile(`"name"\s*:\s*"([^"]*)"\s*,\s*$`)
	afterMark  = regexp.MustCompile(`^\s*:\s*"`)
)

// page decodes the snapshot in an HTML page of PyTorch. If the page has several
// snapshots, page decodes the first one and adds a notice.
func (o *opening) page(ctx context.Context, l *layer) (*trace.Trace, error) {
	p := &pageReader{in: bufio.NewReaderSize(l, pageBuffer)}
	found, err := p.find()
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, o.corrupt("the page holds no snapshot", "open the page that trace_plot saved, or the .pickle it was made from")
	}
	t, err := o.decode(ctx, "html", embedded(p.in))
	if err == nil {
		o.countOthers(p)
	}
	return t, err
}

// countOthers adds a notice when the page holds more snapshots than the one
// just read.
func (o *opening) countOthers(p *pageReader) {
	first, count := p.name, 1
	for {
		found, err := p.find()
		if err != nil || !found {
			break
		}
		count++
	}
	if count > 1 {
		o.notices = append(o.notices, fmt.Sprintf(
			"The page holds %d snapshots; this is the first, %q.", count, first))
	}
}

// pageBuffer is also the largest distance over which a mark is recognised.
const pageBuffer = 64 << 10

// pageReader looks through a page without holding more than a buffer of it.
type pageReader struct {
	in   *bufio.Reader
	name string // of the snapshot found last
}

// find moves to the next snapshot and reports whether there is one. Then the next
// byte is the first of the base64 text.
func (p *pageReader) find() (bool, error) {
	const reach = 1024 // around a mark: the name before it, white space after it
	for {
		window, err := p.in.Peek(pageBuffer)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		last := err != nil
		at := bytes.Index(window, base64Mark)
		switch {
		case at < 0 && last:
			return false, nil
		case at < 0:
			p.discard(len(window) - reach)
			continue
		case !last && at > len(window)-reach && at > reach:
			p.discard(at - reach) // see what follows it
			continue
		}
		used := at + len(base64Mark)
		span := afterMark.FindIndex(window[used:])
		if span == nil {
			p.discard(used)
			continue
		}
		if m := nameBefore.FindSubmatch(window[max(0, at-reach):at]); m != nil {
			p.name = string(m[1])
		}
		p.discard(used + span[1])
		return true, nil
	}
}

// discard passes over n bytes that are known to be in the buffer.
func (p *pageReader) discard(n int) {
	if _, err := p.in.Discard(n); err != nil {
		panic("snapshots: bytes that were peeked at cannot be discarded")
	}
}
