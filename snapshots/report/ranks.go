package report

import (
	"encoding/json"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// RanksSchema names the version of the JSON form of several ranks.
const RanksSchema = "memtop.ranks/1"

// Place is the rank that a report is about. Job, world and launcher are empty for
// files, which do not have them.
type Place struct {
	Rank     int    `json:"rank"`
	World    int    `json:"world,omitempty"`
	Local    int    `json:"local_rank"`
	Job      string `json:"job,omitempty"`
	Launcher string `json:"launcher,omitempty"`
	Host     string `json:"host,omitempty"` // "" for this machine
}

func placeOf(r *ranks.Row) *Place {
	return &Place{r.Rank.Rank, r.World, r.Local, r.Job, r.Launcher, r.Host}
}

// Ranks is a report on all ranks of a job. `memtop attach --all-ranks --once`
// prints it for running programs, and `memtop report` for files.
type Ranks struct {
	Schema   string            `json:"schema"`
	Ranks    []json.RawMessage `json:"ranks"` // a [Live] or a [Report] each, or a [Lost]
	Findings []RankFinding     `json:"findings"`
	// Iterations are the moments of a job whose ranks saved snapshots several times, the
	// first one first. All else is about the last.
	Iterations []Iteration `json:"iterations,omitempty"`
	rows       []ranks.Row
	found      []ranks.Finding
}

// Lost is a rank that did not answer, or could not be read.
type Lost struct {
	*Place
	PID     int    `json:"pid,omitempty"`
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem"`
}

// RankFinding is a finding across ranks.
type RankFinding struct {
	Finding
	Ranks []int `json:"ranks"` // the ranks that it is about; look at the first one
}

// NewRanks reports on rows in the order of ranks, with the report on each of them as
// JSON, nil for one that has a problem.
func NewRanks(rows []ranks.Row, each []json.RawMessage) (*Ranks, error) {
	r := &Ranks{Schema: RanksSchema, Ranks: make([]json.RawMessage, len(rows)), Findings: make([]RankFinding, 0), rows: rows, found: ranks.Findings(rows)}
	for i := range rows {
		if r.Ranks[i] = each[i]; each[i] == nil {
			text, err := json.Marshal(lost(&rows[i]))
			if err != nil {
				return nil, err
			}
			r.Ranks[i] = text
		}
	}
	for i := range r.found {
		f := &r.found[i]
		finding := RankFinding{findingOf(&f.Finding), f.Ranks}
		finding.Where = append(finding.Where, f.Lines...)
		r.Findings = append(r.Findings, finding)
	}
	return r, nil
}

func lost(r *ranks.Row) Lost {
	l := Lost{PID: r.PID, Problem: r.Problem}
	if r.PID == 0 {
		l.Path = r.Name
	}
	if r.Rank.Rank != ranks.Unranked {
		l.Place = placeOf(r)
	}
	return l
}

// LiveRank is NewLive for a rank of a job on a machine, "" for this one, with the
// numbers for comparing ranks.
func LiveRank(t *trace.Trace, host string) (*Live, ranks.Row) {
	r := NewLive(t)
	r.row.Host = host
	if t.Live != nil && t.Live.Rank != nil {
		r.Place = placeOf(&r.row)
	}
	return r, r.row
}

// OfRank is [Of] for a rank of a job.
func OfRank(t *trace.Trace, indexes []*analysis.Index, r *ranks.Row) *Report {
	report := Of(t, indexes)
	report.compare(r)
	report.Place = placeOf(r)
	return report
}
