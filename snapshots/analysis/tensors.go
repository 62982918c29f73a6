package analysis

import (
	"cmp"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// Tensor is a live allocation with the names that the program gives it.
type Tensor struct {
	trace.Allocation // as it was known at that moment
	// Name is the layer and the role or, if these are not known, the place where
	// it was made. It is printable.
	Name     string
	Category trace.Category
	Guessed  bool // the category is
	// Layer, Role, Shape and DType are as the program noted them, "" if it did
	// not.
	Layer, Role, Shape, DType string
	// Age is how many steps began since it was made, −1 if no steps are known.
	// AtLeast says that the moment was not recorded, so the tensor may be older.
	Age     int64
	AtLeast bool
	Site    leak.SiteID
}

// Tensors returns the live tensors right after an event, the largest first and of
// equal sizes the oldest first.
func (x *Index) Tensors(at int) []Tensor {
	at = x.clamp(at)
	alive := x.AliveAt(at)
	tensors := make([]Tensor, len(alive))
	describe := x.describer(at)
	for i := range alive {
		tensors[i] = describe.tensor(&alive[i])
	}
	return tensors
}

// describer names allocations at one moment.
type describer struct {
	index   *Index
	dates   *calendar
	gaps    []trace.Gap
	now     int64
	sites   *leak.Sites
	noted   func(trace.NoteID) string // "" if the note says nothing
	stacked func(trace.StackID) string
}

func (x *Index) describer(at int) *describer {
	d := &describer{index: x, dates: x.calendar(), gaps: x.gapsOf(), sites: x.sites(), stacked: once(x.StackName)}
	d.noted = once(func(id trace.NoteID) string {
		n := &x.tables.Notes[id]
		return cmp.Or(tagName(x.tables, n.Layer, n.Role), trace.Printable(x.tables.Label(id)))
	})
	d.now = d.dates.stepAt(at)
	return d
}

func (d *describer) tensor(a *trace.Allocation) Tensor {
	x := d.index
	note := &x.tables.Notes[a.Note]
	c, rule := x.Category(*a)
	t := Tensor{
		Allocation: *a, Name: d.name(a), Category: c, Guessed: !rule.Exact,
		Layer: trace.Printable(x.tables.String(note.Layer)), Role: trace.Printable(cmp.Or(x.tables.String(note.Role), x.tables.Label(a.Note))),
		Shape: trace.Printable(x.tables.String(note.Shape)), DType: trace.Printable(x.tables.String(note.DType)),
		Site: d.sites.Of(a),
	}
	t.Age, t.AtLeast = d.age(a)
	return t
}

func (d *describer) name(a *trace.Allocation) string {
	if name := d.noted(a.Note); name != "" {
		return name
	}
	if a.FreeStack {
		return HeldBefore
	}
	return d.stacked(a.Stack)
}

// tagName joins a layer and a role.
func tagName(t *trace.Tables, layer, role trace.StringID) string {
	return trace.Printable(strings.TrimSpace(t.String(layer) + " " + t.String(role)))
}
