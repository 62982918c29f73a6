package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/analysis"
)

// countedGraphs rehearses testdata/rehearse/graphs.py. It returns what memtop says of its graphs
// and the program's own count: a line for each graph, and what is reserved in the end.
func countedGraphs(t *testing.T, python, pools, leftOut string) (said *analysis.Graphs, lines []string, end int64) {
	t.Helper()
	r := rehearseWith(t, "--", python, "testdata/rehearse/graphs.py", pools, leftOut)
	if len(r.Ranks) != 1 || r.Ranks[0].Graphs == nil {
		t.Fatalf("code %d, %+v, %s", r.code, r.Ranks, r.stderr)
	}
	_, err := fmt.Sscanf(regexp.MustCompile("end .*").FindString(r.stderr), "end %d", &end)
	fatal.If(t, err)
	return r.Ranks[0].Graphs, regexp.MustCompile("size .*").FindAllString(r.stderr, -1), end
}

// TestRehearsedGraphsSaveWhatTheChangedProgramDoes has the program change its pools, and leave a size out.
func TestRehearsedGraphsSaveWhatTheChangedProgramDoes(t *testing.T) {
	python := besideOthers(t)
	said, counted, end := countedGraphs(t, python, "separate", "0")
	var lines []string
	for _, g := range said.Captured {
		_, size, _ := strings.Cut(g.Name, ", size=")
		lines = append(lines, fmt.Sprintf("size %s %d %d %d", size, g.Needs, g.Keeps, g.Grew))
	}
	equal.Values(t, "the graphs", counted, lines)
	shared, _, one := countedGraphs(t, python, "one", "0")
	_, _, without := countedGraphs(t, python, "one", "2048")
	_, _, alone := countedGraphs(t, python, "separate", "2048")
	if said.OnePool == nil || said.Captured[1].Without == nil || shared.Captured[1].Without == nil {
		t.Fatalf("it does not know what is saved: %+v, %+v", said, shared)
	}
	equal.Values(t, "one pool saves", end-one, *said.OnePool)
	equal.Values(t, "a graph less saves", end-alone, *said.Captured[1].Without)
	equal.Values(t, "a graph less in a shared pool saves", one-without, *shared.Captured[1].Without)
}
