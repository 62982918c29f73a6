package layers

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// The settings that take layers. The value of one of them begins with a prefix if
// it names layers.
const (
	checkpoint = "checkpoint"
	byName     = "layers="
	host       = "host"
)

var _ page.LayerChooser = (*Page)(nil)

// Choose changes the selected layer and leaves the others as the last step had
// them, or as the setting names them.
func (p *Page) Choose(o *trace.Option, now string) (value string, ok bool) {
	at := p.current()
	if at < 0 || p.data.Rows[at].Name == "" {
		return "", false
	}
	rows := analysis.Layers(p.Scene.Trace(), 0).Rows
	i := slices.IndexFunc(rows, func(r analysis.LayerRow) bool { return r.Name == p.data.Rows[at].Name })
	if i < 0 {
		return "", false
	}
	s := selection{o.Key, o.Choices[0], rows, make([]bool, len(rows))}
	s.read(now)
	s.toggle(i)
	return s.value(), true
}

// selection is the set of layers for which a setting holds, each by itself.
type selection struct {
	setting string
	none    string // its value for no layer
	rows    []analysis.LayerRow
	chosen  []bool
}

// read takes the layers in the setting. If it names none, read takes the outermost
// layers for which it held in the step.
func (s *selection) read(now string) {
	names, named := strings.CutPrefix(now, byName)
	held := func(r *analysis.LayerRow) bool { return r.Checkpointed }
	if s.setting == host {
		named, held = true, func(r *analysis.LayerRow) bool { return r.OnHost }
	}
	list := strings.Split(names, "+")
	for i := range s.rows {
		r := &s.rows[i]
		switch {
		case named:
			s.chosen[i] = slices.Contains(list, r.Name)
		case now != s.none:
			s.chosen[i] = held(r) && (r.Parent < 0 || !held(&s.rows[r.Parent]))
		}
	}
}

// toggle changes one layer. If a layer around it is chosen, toggle chooses the
// other parts of that one instead.
func (s *selection) toggle(i int) {
	around := i
	for around >= 0 && !s.chosen[around] {
		around = s.rows[around].Parent
	}
	if around < 0 {
		s.clear(i)
		s.chosen[i] = true
		return
	}
	s.chosen[around] = false
	for ; i != around; i = s.rows[i].Parent {
		for _, sister := range s.rows[s.rows[i].Parent].Children {
			// A checkpoint of a layer without parts saves little except its input.
			s.chosen[sister] = sister != i && (s.setting == host || len(s.rows[sister].Children) > 0)
		}
	}
}

// clear removes all chosen layers inside a layer.
func (s *selection) clear(i int) {
	for _, child := range s.rows[i].Children {
		s.chosen[child] = false
		s.clear(child)
	}
}

func (s *selection) value() string {
	var names []string
	for i, chosen := range s.chosen {
		if chosen {
			names = append(names, s.rows[i].Name)
		}
	}
	list := strings.Join(names, "+")
	switch {
	case list == "":
		return s.none
	case s.setting == checkpoint:
		return byName + list
	}
	return list
}
