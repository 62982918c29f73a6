package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/trace"
)

// Share is a part of the live memory: a category or, behind those, memory of which it is
// not known what it is for.
type Share struct {
	Name     string
	Category trace.Category // OtherCategory of a part that is not known
	Band     int            // its place in charts: all that is not known is in the last
	Bytes    int64
	Empty    string // what to say of a category without bytes, "" where it certainly has none
}

// NotKnown is what is said of memory of which a program that notes what memory is for has
// noted nothing, and of a category that may be in the memory of others.
const NotKnown = "not known"

// SharesAt returns the shares of the memory that is live right after an event, and
// GuessedAt. The categories come first, in their order. The bytes add up to RequestedAt.
func (x *Index) SharesAt(event int) (shares []Share, guessed bool) {
	sums, held := x.CategoriesAt(event), x.UnknownAt(event)
	guessed, unseen := x.notNotedAt(event)
	unseen = max(0, unseen-held)
	empty := ""
	switch {
	case unseen > 0: // the last share says it
	case !guessed && held == 0:
	case doubtful(&sums):
		empty = NotKnown
	default:
		empty = "none found"
	}
	sums[trace.OtherCategory] -= held + unseen
	shares = make([]Share, 0, trace.CategoryCount+2)
	for _, c := range trace.Categories {
		s := Share{c.String(), c, c.Place(), sums[c], ""}
		if s.Bytes == 0 && c != trace.OtherCategory {
			s.Empty = empty
		}
		shares = append(shares, s)
	}
	for _, s := range []Share{{Name: HeldBefore, Band: heldBand, Bytes: held}, {Name: NotKnown, Band: heldBand, Bytes: unseen}} {
		if s.Bytes > 0 {
			shares = append(shares, s)
		}
	}
	return shares, guessed
}

// doubtful reports whether categories that have no bytes by these guesses may
// really have some. That is so if more than one percent of the bytes have no
// known category.
func doubtful(sums *[trace.CategoryCount]int64) bool {
	const part = 100
	whole := int64(0)
	for _, bytes := range sums {
		whole += bytes
	}
	return sums[trace.OtherCategory] > whole/part
}

// Label is what the program itself calls some of its memory.
type Label struct {
	Name  string `json:"label"`
	Bytes int64  `json:"bytes"`
	Count int    `json:"count"`
}

// LabelsAt returns the labels of what is alive right after an event, the largest first.
func (x *Index) LabelsAt(event int) []Label {
	labels := grouped.By[string, Label]{List: make([]Label, 0)}
	if !slices.ContainsFunc(x.tables.Notes, func(n trace.Note) bool { return n.UserMetadata > trace.EmptyString }) {
		return labels.List
	}
	for _, a := range x.alive(x.clamp(event)) {
		if name := trace.Printable(x.tables.Label(a.Note)); name != "" {
			l := labels.Of(name)
			*l = Label{name, l.Bytes + a.Size, l.Count + 1}
		}
	}
	slices.SortStableFunc(labels.List, func(a, b Label) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return labels.List
}
