package timeline

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// drill is the part under the chart: on the left the steps from a band to its
// stacks and their allocations, on the right the live allocations of the selected
// row.
type drill struct {
	scene    *page.Scene
	asked    *ask.One[aliveQuestion, *aliveList]
	made     *ask.One[listQuestion, *lists]
	items    []item
	names    page.Names // of their stacks
	groups   []group
	alive    []int32 // indexes of items in the selected row
	step     step
	band     int // the opened band at inBand and below, allBands for all
	bandName string
	stack    stackKey // the opened stack at inStack
	seek     stackKey // to select once its row exists
	left     page.List
	right    page.List
	detail   page.Reader
	onRight  bool
	filter   string
	search   string
	byAge    bool
	inverse  bool
	frames   bool // show all frames
}

func newDrill(s *page.Scene) drill {
	return drill{scene: s, band: allBands, asked: ask.New(s.Gate, aliveAt), made: ask.New(s.Gate, makeLists)}
}

// reset goes back to all bands, because the chart has new ones.
func (d *drill) reset() { d.step, d.band, d.left.Cursor = inAll, allBands, 0 }

// forget drops the live allocations, because their numbers have changed.
func (d *drill) forget() {
	d.items, d.names, d.groups, d.alive = nil, nil, nil, nil
}

// back goes one step up and reports whether there was one.
func (d *drill) back() bool {
	switch {
	case d.step == inStack:
		d.step, d.seek = inBand, d.stack
	case d.step == inBand:
		d.step, d.left.Cursor = inAll, 0
		for i := range d.groups {
			if d.band != allBands && d.groups[i].band == d.band {
				d.left.Cursor = i
			}
		}
	case d.filter != "":
		d.filter = ""
	case d.onRight:
		d.onRight = false
	default:
		return false
	}
	return true
}

// refresh asks for the live allocations and their lists, and takes answers.
func (d *drill) refresh(p *Page) tea.Cmd {
	cmd := d.askAlive()
	alive, ok := d.asked.Answer()
	if ok && p.chart != nil {
		cmd = tea.Batch(cmd, d.made.Ask(d.question(p, alive)))
	}
	if made, ok := d.made.Answer(); ok && made != nil {
		alive := d.made.Answered().alive
		d.items, d.names, d.groups, d.alive = alive.items, alive.names, made.groups, made.alive
	}
	d.left.Resize(len(d.groups), p.shape.left.H-1)
	d.seekStack()
	d.right.Resize(len(d.alive), p.shape.right.H-1)
	d.detail.Resize(len(d.detailLines()), p.shape.right.H-1)
	return cmd
}

// askAlive asks for the live allocations at the cursor, once for each moment.
func (d *drill) askAlive() tea.Cmd {
	return d.asked.Ask(aliveQuestion{index: d.scene.Edition(), at: d.scene.Cursor()})
}

func (d *drill) question(p *Page, alive *aliveList) listQuestion {
	return listQuestion{
		index: d.scene.Edition(), alive: alive, chart: p.chart, by: p.charted.by,
		step: d.step, band: d.band, bandName: d.bandName, stack: d.stack, row: d.left.Cursor,
		filter: d.filter, byAge: d.byAge, inverse: d.inverse,
	}
}

// seekStack selects the stack that the user left, once the stacks are listed
// again.
func (d *drill) seekStack() {
	if (d.seek == stackKey{}) || d.made.Answered().step != inBand {
		return
	}
	for i := range d.groups {
		if d.groups[i].stack == d.seek && !d.groups[i].all {
			d.left.Center(i)
		}
	}
	d.seek = stackKey{}
}

// shownStep is the step of the lists on the screen.
func (d *drill) shownStep() step { return d.made.Answered().step }

// selected returns the selected row of the left list.
func (d *drill) selected() *group {
	if d.left.Cursor < len(d.groups) {
		return &d.groups[d.left.Cursor]
	}
	return nil
}

// item returns row i of the right list.
func (d *drill) item(i int) *item { return &d.items[d.alive[i]] }
