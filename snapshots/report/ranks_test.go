package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// sixtyFour are the rows of a large job on two machines, of which one rank holds more and
// one is lost.
func sixtyFour() []ranks.Row {
	rows := make([]ranks.Row, 64)
	for i := range rows {
		r := &rows[i]
		*r = ranks.Row{
			Rank: trace.Rank{Job: "a-job-with-a-long-name\x1b[2J", Rank: i, World: 64}, PID: 4_194_000 + i, Host: "node1", Step: 123_456,
			Allocated: 1023 << 20, PeakAllocated: 1022 << 20, PeakReserved: 1 << 30, Capacity: 80 << 30,
		}
		r.AtPeak[trace.Activation] = 1021 << 20
	}
	rows[3].PeakAllocated, rows[3].AtPeak[trace.Activation] = 2<<30, 2<<30
	rows[7].Problem = "process 4194007 does not answer"
	return rows
}

func TestATableOfRanksIsReadOnEightyColumns(t *testing.T) {
	r, err := NewRanks(sixtyFour(), make([]json.RawMessage, 64))
	fatal.If(t, err)
	text := pageOf(t, r, 80)
	for line := range strings.Lines(text) {
		if n := cells(strings.TrimRight(line, "\n")); n > 80 || strings.ContainsRune(line, '\x1b') {
			t.Errorf("a line of %d cells: %q", n, line)
		}
	}
	wantIn(t, text,
		"64 ranks of 64, job a-job-with-a-long-name",
		"  X Rank 7 on node1 cannot be asked: process 4194007 does not answer.",
		"  ! Rank 3 on node1 holds 1.0 GiB more at its peak than the median",
		"\n   3 123456 1023.0 MiB    2.0 GiB    2.0 GiB   +1.0 GiB   79.0 GiB  4194003",
		"\n   7  4194007 node1: process 4194007 does not answer\n",
		"memtop attach node1:4194003 --once says what it holds.",
	)
}

func TestRanksAsJSONLeaveNoneOut(t *testing.T) {
	rows := sixtyFour()[:8]
	each := make([]json.RawMessage, 8)
	for i := range each {
		if i != 7 {
			each[i] = json.RawMessage(`{"schema":"memtop.live/1"}`)
		}
	}
	r, err := NewRanks(rows, each)
	fatal.If(t, err)
	text, err := json.Marshal(r)
	fatal.If(t, err)
	var back struct {
		Schema string
		Ranks  []struct {
			Rank    *int
			PID     int
			Problem string
		}
		Findings []struct {
			Kind  string
			Bytes int64
			Ranks []int
		}
	}
	fatal.If(t, json.Unmarshal(text, &back))
	lost := back.Ranks[7]
	if back.Schema != "memtop.ranks/1" || len(back.Ranks) != 8 || lost.Rank == nil || *lost.Rank != 7 || lost.PID != 4194007 || lost.Problem == "" {
		t.Errorf("got %s", text)
	}
	if len(back.Findings) != 3 || back.Findings[1].Kind != "uneven_memory" || back.Findings[1].Ranks[0] != 3 || back.Findings[1].Bytes != 1026<<20 {
		t.Errorf("findings %+v", back.Findings)
	}
}

func TestASentenceNamesAFewRanksThatBrokeALimit(t *testing.T) {
	g := NewRankGates()
	for i := range 5 {
		row := ranks.Row{Rank: trace.Rank{Rank: i}, Name: "x"}
		g.Add(&row, &Gate{Devices: []GateDevice{{Peak: &GatePeak{RequestedBytes: 2, LimitBytes: 1, Exceeded: true}}}})
	}
	want := "rank 0: the peak of device 0, 2 B, is more than 1 B; rank 1: the peak of device 0, 2 B, is more than 1 B; " +
		"rank 2: the peak of device 0, 2 B, is more than 1 B; and 2 more ranks"
	if got := g.Broken(); got != want || g.OK {
		t.Errorf("got %q", got)
	}
}
