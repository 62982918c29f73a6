package reopen

import "github.com/memtop/memtop/snapshots/trace"

// flatTables are tables as they lie in an entry.
type flatTables struct {
	text  []byte
	ends  []int64
	lists trace.FlatTables
	rest  trace.Tables
}

func nextTables(r *reader) *flatTables {
	f := &flatTables{text: next[byte](r), ends: next[int64](r)}
	t, l := &f.rest, &f.lists
	t.Frames, t.FX, t.Notes = next[trace.Frame](r), next[trace.FX](r), next[trace.Note](r)
	t.Streams, t.Pools = next[uint64](r), next[trace.Pool](r)
	l.StackEnds, l.Stacks = next[uint32](r), next[trace.FrameID](r)
	l.ListEnds, l.Lists = next[uint32](r), next[trace.StringID](r)
	l.FXFrames, l.FXNumbers = next[trace.FrameID](r), next[trace.FXID](r)
	return f
}

func (f *flatTables) tables() (*trace.Tables, error) {
	text := string(f.text)
	f.rest.Strings = make([]string, len(f.ends))
	var from int64
	for i, to := range f.ends {
		if to < from || to > int64(len(text)) {
			return nil, damaged("text %d", i)
		}
		f.rest.Strings[i] = text[from:to]
		from = to
	}
	return trace.TablesOf(f.rest, f.lists)
}
