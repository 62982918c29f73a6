package iteration

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// fewest is how often a line must be visited to count as a loop.
const fewest = 2

// deepest is how many calls a loop may be inside of: each costs a look at all
// allocations.
const deepest = 100

// period finds the loop around the model in a trace with no sign of training. It
// goes inwards from the outermost frame. At each depth it takes the line below
// which most memory is allocated and freed again. If the program comes back to
// that line from other lines, each visit is an iteration; else the loop is
// further in. It looks at the forward function of the outermost module last,
// because loops inside of it are over layers. A loop that runs no module is over
// parameters or files.
func period(t Trace) []Span {
	p := newTrunks(t)
	active := make([]bool, len(p.trunks))
	for i := range active {
		active[i] = true
	}
	for depth := range deepest {
		line := p.heaviest(active, depth)
		if line == 0 {
			return nil
		}
		if found := p.spans(p.visits(active, depth, line)); found != nil {
			return found
		}
		for i, trunk := range p.trunks {
			active[i] = active[i] && depth < len(trunk) && trunk[depth] == line
		}
	}
	return nil
}

// trunks are the beginnings of the stacks, from the outermost frame to the first
// module, and the order in which they allocate.
type trunks struct {
	Trace
	trunks [][]trace.FrameID
	models []bool // by trunk, it ends in a module
	freed  []int  // by trunk, allocations that were freed
	runs   []run
}

// run is allocations one after another with the same trunk.
type run struct {
	trunk    int
	from, to int // the first and last of them
	many     int // how many there are
	model    bool
}

func newTrunks(t Trace) *trunks {
	p := &trunks{Trace: t}
	known := make(map[string]int)
	of := make([]int, t.Tables.StackCount()) // by stack, its trunk's number and 1
	for i := range t.Events.Len() {
		if e := t.Events.At(i); e.Kind == trace.Alloc && e.Stack > trace.EmptyStack {
			if of[e.Stack] == 0 {
				of[e.Stack] = p.trunk(known, e.Stack) + 1
			}
			p.add(i, of[e.Stack]-1)
		}
	}
	return p
}

func (p *trunks) add(i, trunk int) {
	if n := len(p.runs); n == 0 || p.runs[n-1].trunk != trunk {
		p.runs = append(p.runs, run{trunk: trunk, from: i, model: p.models[trunk]})
	}
	r := &p.runs[len(p.runs)-1]
	r.to = i
	r.many++
	if p.Freed(i) {
		p.freed[trunk]++
	}
}

// trunk returns the number of a stack's trunk.
func (p *trunks) trunk(known map[string]int, stack trace.StackID) int {
	var trunk []trace.FrameID
	var key []byte
	modules := 0
	for _, id := range slices.Backward(p.Tables.Stack(stack)) {
		f := p.Tables.Frames[id]
		if !lines.IsPython(lines.Slashed(p.Tables.String(f.File))) {
			continue
		}
		if name := p.Tables.String(f.Name); name == "_call_impl" || name == "_wrapped_call_impl" {
			modules++
			continue
		}
		if modules > 0 && len(trunk) > 0 {
			trunk = append(trunk, id)
			key = append(key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
			break
		}
		trunk = append(trunk, id)
		key = append(key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	n, ok := known[string(key)]
	if !ok {
		n = len(p.trunks)
		known[string(key)] = n
		p.trunks, p.models, p.freed = append(p.trunks, trunk), append(p.models, modules > 0), append(p.freed, 0)
	}
	return n
}

// heaviest returns the frame at a depth below which most is freed again, 0 where
// nothing is.
func (p *trunks) heaviest(active []bool, depth int) trace.FrameID {
	weight := make(map[trace.FrameID]int)
	var best trace.FrameID
	for i, trunk := range p.trunks {
		if !active[i] || depth >= len(trunk) {
			continue
		}
		line := trunk[depth]
		weight[line] += p.freed[i]
		if w := weight[line]; w > weight[best] || w == weight[best] && w > 0 && line < best {
			best = line
		}
	}
	return best
}

// visits returns the runs of allocations below a line that nothing else of the
// same caller interrupts.
func (p *trunks) visits(active []bool, depth int, line trace.FrameID) []run {
	var found []run
	inside := false
	for _, r := range p.runs {
		trunk := p.trunks[r.trunk]
		switch {
		case !active[r.trunk] || depth >= len(trunk):
		case trunk[depth] != line:
			inside = false
		case inside:
			v := &found[len(found)-1]
			v.to = r.to
			v.many += r.many
			v.model = v.model || r.model
		default:
			found = append(found, r)
			inside = true
		}
	}
	return found
}

// spans makes steps of visits that are alike and run the model, nil of others.
func (p *trunks) spans(visits []run) []Span {
	if len(visits) < fewest {
		return nil
	}
	sizes := make([]int, len(visits))
	models := 0
	for i, v := range visits {
		sizes[i] = v.many
		if v.model {
			models++
		}
	}
	slices.Sort(sizes)
	median, alike := sizes[len(sizes)/2], 0
	for _, size := range sizes {
		if 2*size >= median && size <= 2*median {
			alike++
		}
	}
	if 2*alike < len(visits) || 2*models < len(visits) {
		return nil
	}
	found := make([]Span, len(visits))
	longest := 0
	for i, v := range visits {
		found[i] = Span{v.from, v.to + 1}
		if i > 0 {
			found[i-1].To = v.from
			longest = max(longest, v.from-found[i-1].From)
		}
	}
	if last := &found[len(found)-1]; p.Events.Len()-last.From <= 2*longest {
		last.To = p.Events.Len()
	}
	return found
}
