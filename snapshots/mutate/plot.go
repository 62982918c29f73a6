package mutate

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
)

// newPlot returns a page with plot data as PyTorch 2.0's trace_plot wrote it,
// or in columns as builds shortly after did.
func newPlot(r *rand.Rand) document {
	data := plotData(r, 1+r.IntN(60), r.IntN(2) == 0)
	return &tree{root: data, cyclic: true, write: func(v any) []byte {
		return fmt.Appendf(nil, "<!DOCTYPE html>\n<script>\nlet alloc_data = %s\nalloc_data.x\n</script>\n", bytes.TrimSpace(writeJSON(v)))
	}}
}

func plotData(r *rand.Rand, count int, columns bool) *pytorchtest.Dict {
	var actions, initially, elements, sizes, infos, categories []any
	for i := range count {
		size, info := 1+r.Int64N(1<<24), r.Int64N(6)
		elements = append(elements, dict("size", size, "info", info))
		sizes, infos, categories = append(sizes, size), append(infos, info), append(categories, r.Int64N(2))
		if r.IntN(8) == 0 {
			initially = append(initially, int64(i))
		} else {
			actions = append(actions, int64(i))
		}
		if r.IntN(2) == 0 {
			actions = append(actions, int64(r.IntN(i+1)))
		}
	}
	suffixes, lines := suffixTable(r)
	if columns {
		return dict("actions", list(actions), "elements_size", list(sizes), "elements_info", list(infos), "elements_category", list(categories),
			"initially_allocated", list(initially), "suffix_table", suffixes, "string_table", lines, "categories", list([]any{"unknown", "parameter"}))
	}
	return dict("actions", list(actions), "elements", list(elements), "suffix_table", suffixes, "string_table", lines, "initially_allocated", list(initially))
}

// suffixTable returns texts as linked lists of lines, and the lines.
func suffixTable(r *rand.Rand) (suffixes, lines *pytorchtest.List) {
	suffixes, lines = &pytorchtest.List{}, &pytorchtest.List{}
	for i := range 6 {
		pair := []any{int64(i), nil}
		if i > 0 {
			pair[1] = r.Int64N(int64(i))
		}
		suffixes.Items = append(suffixes.Items, list(pair))
		lines.Items = append(lines.Items, fmt.Sprintf("%s:%d:%s", choose(r, fileNames), r.IntN(100), functionName(r)))
	}
	lines.Items[5] = choose(r, []string{"b7f00_0 512.0B allocation (512 bytes)", "s7f00_0 2.0MiB allocation (2097152 bytes)", "1000.0B allocation (gradient)"})
	return suffixes, lines
}

func list(items []any) *pytorchtest.List { return &pytorchtest.List{Items: items} }

// dict returns a dict of keys and values in turn.
func dict(items ...any) *pytorchtest.Dict {
	d := &pytorchtest.Dict{}
	for i := 0; i < len(items); i += 2 {
		d.Items = append(d.Items, pytorchtest.Item{Key: items[i], Value: items[i+1]})
	}
	return d
}
