package snapshots

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// The marks that a page is searched for. trace_plot and its kin embed snapshots,
// each an object with a name and the pickle as base64. PyTorch 2.0 embeds plot
// data.
var (
	base64Mark = []byte(`"base64"`)
	plotMark   = []byte("alloc_data")

	nameBefore = regexp.MustCompile(`"name"\s*:\s*"([^"]*)"\s*,\s*$`)
	afterPlot  = regexp.MustCompile(`^\s*=\s*\{`)
	afterMark  = regexp.MustCompile(`^\s*:\s*"`)
)

// page decodes the snapshot or the plot data in an HTML page of PyTorch. If the
// page has several snapshots, page decodes the first one and adds a notice.
func (o *opening) page(ctx context.Context, l *layer) (*trace.Trace, error) {
	p := &pageReader{in: bufio.NewReaderSize(l, pageBuffer)}
	found, err := p.find()
	if err != nil {
		return nil, err
	}
	switch found {
	case foundPlot:
		plot := &layer{name: "html", r: p.in}
		o.layers = append(o.layers, plot)
		return pytorch.DecodeAllocData(ctx, plot, o.decoding(plot))
	case foundSnapshot:
		t, err := o.decode(ctx, "html", &embedded{in: p.in})
		if err == nil {
			o.countOthers(p)
		}
		return t, err
	default:
		return nil, o.corrupt("the page holds no snapshot", "open the page that trace_plot saved, or the .pickle it was made from")
	}
}

// countOthers adds a notice when the page holds more snapshots than the one
// just read.
func (o *opening) countOthers(p *pageReader) {
	first, count := p.name, 1
	for {
		found, err := p.find()
		if err != nil || found == foundNothing {
			break
		}
		if found == foundSnapshot {
			count++
		}
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

type finding uint8

const (
	foundNothing finding = iota
	foundSnapshot
	foundPlot
)

// find moves to the next snapshot or plot data. Then the next byte is the first
// of the base64 text, or the opening brace of the plot data.
func (p *pageReader) find() (finding, error) {
	const reach = 1024 // around a mark: the name before it, white space after it
	for {
		window, err := p.in.Peek(pageBuffer)
		if err != nil && !errors.Is(err, io.EOF) {
			return foundNothing, err
		}
		last := err != nil
		at, found, used := firstMark(window)
		switch {
		case at < 0 && last:
			return foundNothing, nil
		case at < 0:
			p.discard(len(window) - reach)
		case !last && at > len(window)-reach && at > reach:
			p.discard(at - reach) // see what follows it
		case found == foundNothing:
			p.discard(at + used)
		default:
			if m := nameBefore.FindSubmatch(window[max(0, at-reach):at]); m != nil {
				p.name = string(m[1])
			}
			p.discard(at + used)
			return found, nil
		}
	}
}

// discard passes over n bytes that are known to be in the buffer.
func (p *pageReader) discard(n int) {
	if _, err := p.in.Discard(n); err != nil {
		panic("snapshots: bytes that were peeked at cannot be discarded")
	}
}

// firstMark finds the first mark in window, whether data follows it, and how
// many bytes the mark takes up to the data.
func firstMark(window []byte) (at int, found finding, used int) {
	at, after, found, mark := bytes.Index(window, base64Mark), afterMark, foundSnapshot, base64Mark
	if i := bytes.Index(window, plotMark); i >= 0 && (at < 0 || i < at) {
		at, after, found, mark = i, afterPlot, foundPlot, plotMark
	}
	if at < 0 {
		return -1, foundNothing, 0
	}
	used = len(mark)
	span := after.FindIndex(window[at+used:])
	if span == nil {
		return at, foundNothing, used
	}
	used += span[1]
	if found == foundPlot {
		used-- // the brace belongs to the data
	}
	return at, found, used
}
