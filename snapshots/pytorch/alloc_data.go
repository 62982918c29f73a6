package pytorch

import (
	"context"
	"errors"
	"io"

	"github.com/memtop/memtop/snapshots/trace"
)

// allocData is the plot data that PyTorch 2.0's trace_plot and profile_plot
// put into their HTML, as JSON. It is the input of a plot, not a snapshot.
//
//	elements             per allocation {"size": n, "info": i}; builds just
//	                     before 2.1 write the columns elements_size,
//	                     elements_info and elements_category instead
//	actions              element numbers in order: the first time one appears
//	                     it is allocated, the second time freed, and so on
//	initially_allocated  elements that were held before the first action
//	suffix_table         [string, rest]: a text of lines as a linked list, rest
//	                     being an earlier entry or null
//	string_table         the lines
//	categories           names for elements_category, or null
type allocData struct {
	actions    []int64
	initially  []int64
	sizes      []int64
	infos      []int64 // into suffixes, -1 for none
	categories []int64
	suffixes   [][2]int64
	strings    []string
	names      []string // of the categories
}

// DecodeAllocData reads the alloc_data of a plot made by PyTorch 2.0. The
// addresses and the one segment of the trace are made up, since the plot has
// none, and a notice says so. Bytes after the JSON are ignored.
func DecodeAllocData(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	p := plotReader{jsonScanner: jsonScanner{window: newWindow(ctx, r, o)}}
	defer p.release()
	err := p.object(p.field)
	if errors.Is(err, errTruncated) {
		return nil, p.corrupt("the page ends within its plot data")
	}
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	plot, err := newPlot(&p)
	if err != nil {
		return nil, err
	}
	return plot.trace(), nil
}

// plotReader reads an allocData.
type plotReader struct {
	jsonScanner
	data allocData
	used int64 // bytes of memory
}

// plotItemBytes is the memory that an item takes in the data and, if it is an
// action, in the trace and its index.
const plotItemBytes = 64 + eventBytes

func (p *plotReader) charge(bytes int) error {
	if p.used += int64(bytes); p.used > p.room {
		return p.tooMuch()
	}
	return nil
}

func (p *plotReader) field(key string) error {
	d := &p.data
	switch key {
	case "actions":
		return p.integers(&d.actions)
	case "initially_allocated":
		return p.integers(&d.initially)
	case "elements_size":
		return p.integers(&d.sizes)
	case "elements_info":
		return p.integers(&d.infos)
	case "elements_category":
		return p.integers(&d.categories)
	case "string_table":
		return p.texts(&d.strings)
	case "categories":
		return p.texts(&d.names)
	case "elements":
		return p.array(p.element)
	case "suffix_table":
		return p.array(p.suffix)
	default:
		return p.skip()
	}
}

func (p *plotReader) element(kind jsonKind) error {
	if kind != jsonObject {
		return p.corrupt("an element of the plot is not an object")
	}
	size, info := int64(0), int64(-1)
	err := p.members(func(key string) error {
		switch key {
		case "size":
			return p.integer(&size)
		case "info":
			return p.integer(&info)
		default:
			return p.skip()
		}
	})
	p.data.sizes = append(p.data.sizes, size)
	p.data.infos = append(p.data.infos, info)
	return errors.Join(err, p.charge(plotItemBytes))
}

func (p *plotReader) suffix(kind jsonKind) error {
	if kind != jsonArray {
		return p.corrupt("an entry of the suffix table is not a pair")
	}
	pair, n := [2]int64{-1, -1}, 0
	err := p.items(func(kind jsonKind) error {
		value, err := p.number64(kind)
		if n < len(pair) {
			pair[n] = value
		}
		n++
		return err
	})
	p.data.suffixes = append(p.data.suffixes, pair)
	return errors.Join(err, p.charge(plotItemBytes))
}

// check returns an error unless all references and sizes are in range.
func (p *plotReader) check() error {
	d := &p.data
	elements := int64(len(d.sizes))
	if len(d.infos) != len(d.sizes) || len(d.categories) > 0 && len(d.categories) != len(d.sizes) {
		return p.corrupt("the plot's columns differ in length")
	}
	if len(d.actions) > trace.MaxEvents {
		return p.corrupt("the plot has %d actions", len(d.actions))
	}
	for _, list := range [][]int64{d.actions, d.initially} {
		if !within(list, 0, elements) {
			return p.corrupt("the plot refers to an element that it does not have")
		}
	}
	if !within(d.infos, -1, int64(len(d.suffixes))) {
		return p.corrupt("the plot refers to a text that it does not have")
	}
	for i, s := range d.suffixes {
		if s[0] < 0 || s[0] >= int64(len(d.strings)) || s[1] < -1 || s[1] >= int64(i) {
			return p.corrupt("entry %d of the plot's suffix table is out of range", i)
		}
	}
	if !within(d.sizes, 0, 1<<44) {
		return p.corrupt("the plot has an element of an impossible size")
	}
	return nil
}

func within(list []int64, low, high int64) bool {
	for _, n := range list {
		if n < low || n >= high {
			return false
		}
	}
	return true
}
