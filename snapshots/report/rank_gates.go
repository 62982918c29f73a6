package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/quantity"
)

// RankGates are the checks of a job's ranks, or of several files. `memtop check`
// prints them for more than one file.
type RankGates struct {
	Schema string     `json:"schema"`
	OK     bool       `json:"ok"` // of all of them
	Ranks  []RankGate `json:"ranks"`
}

// RankGate is the check of one rank, or the reason why it cannot be checked.
type RankGate struct {
	*Place         // nil for a file that is no rank
	Path    string `json:"path"`
	OK      bool   `json:"ok"`
	Devices any    `json:"devices"` // as in a [Gate]; null if there is a problem
	Problem string `json:"problem,omitempty"`
	gate    *Gate
	name    string
}

// NewRankGates returns gates without ranks.
func NewRankGates() *RankGates {
	return &RankGates{Schema: GateSchema, OK: true, Ranks: make([]RankGate, 0)}
}

// Add adds a rank: its gate, or its row's problem. A rank that cannot be checked
// does not pass.
func (g *RankGates) Add(r *ranks.Row, gate *Gate) {
	one := RankGate{Path: r.Name, Problem: r.Problem, gate: gate, name: r.Name}
	if r.Rank.Rank != ranks.Unranked {
		one.Place, one.name = placeOf(r), "rank "+strconv.Itoa(r.Rank.Rank)
	}
	if r.Problem == "" {
		one.OK, one.Devices = gate.OK, gate.Devices
	}
	g.OK = g.OK && one.OK
	g.Ranks = append(g.Ranks, one)
}

// Text writes, for each rank, whether the limits hold.
func (g *RankGates) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	for i := range g.Ranks {
		r := &g.Ranks[i]
		title := r.name
		if r.Place != nil {
			title += "  " + r.Path
		}
		p.line("%s", title)
		if r.Problem != "" {
			p.wrap(kept(true), r.Problem)
			continue
		}
		r.gate.lines(p)
	}
	return p.w.Flush()
}

// Broken says which ranks exceed which limits, "" when none does.
func (g *RankGates) Broken() string {
	var broken []string
	for i := range g.Ranks {
		if r := &g.Ranks[i]; r.Problem == "" && !r.OK {
			broken = append(broken, fmt.Sprintf("%s: %s", r.name, r.gate.Broken()))
		}
	}
	if more := len(broken) - mostBroken; more > 0 {
		broken = append(broken[:mostBroken], fmt.Sprintf("and %s", quantity.Plural(more, "more rank")))
	}
	return strings.Join(broken, "; ")
}

// mostBroken is how many ranks a sentence names.
const mostBroken = 3
