package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	rankspage "github.com/memtop/memtop/tui/ranks"
	"github.com/memtop/memtop/tui/screen"
)

// # The ranks of a job
//
// Each rank is a file, which is loaded when the user enters it. The page of ranks
// is drawn from rows that arrive separately, so that a job of a thousand ranks
// has only a few streams open: those of the last shown ranks. There is one such
// page for all files.

// Ranks are the ranks of a job as rows, in the order of the files. Its methods are safe
// for concurrent use.
type Ranks interface {
	// Rows returns one row for each rank. The rows never change.
	Rows() []ranks.Row
	// Changed returns a channel with room for one that receives when Rows returns
	// something newer than it did; nil if it never does.
	Changed() <-chan struct{}
}

// AllRanks are ranks that do not agree on settings by themselves, see
// [trace.Rank.Together], so that memtop must ask each of them.
type AllRanks interface {
	Ranks
	// Set asks all ranks for another value: either all accept it or none does. It
	// returns the change as the file's rank recorded it. The error names in one line
	// the rank that refused.
	Set(ctx context.Context, file int, key, value string) (trace.Change, error)
	// Predict asks the rank of a file what changes would do together.
	Predict(ctx context.Context, file int, changes []trace.Value) (*trace.Prediction, error)
}

// ofAll are the settings of all ranks, in the form of the shown rank's.
type ofAll struct {
	AllRanks
	at int
}

// Set asks all ranks.
func (o ofAll) Set(ctx context.Context, key, value string) (trace.Change, error) {
	return o.AllRanks.Set(ctx, o.at, key, value)
}

// Predict asks the rank that holds most: the job needs that much on every device.
func (o ofAll) Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error) {
	worst := o.at
	if r := highest(o.Rows()); r >= 0 {
		worst = r
	}
	return o.AllRanks.Predict(ctx, worst, changes)
}

// highest returns the index of the rank that answers and allocated most in its
// last step, -1 for none.
func highest(rows []ranks.Row) int {
	at := -1
	for i := range rows {
		if rows[i].Problem == "" && rows[i].PeakAllocated > 0 && (at < 0 || rows[i].PeakAllocated > rows[at].PeakAllocated) {
			at = i
		}
	}
	return at
}

// together returns how many ranks share a file's settings, 0 for a single
// program, and whether the program itself changes them in all ranks.
func (f *file) together() (ranks int, itself bool) {
	switch r := f.source.Trace().Live.Rank; {
	case r != nil && r.World > 1 && r.Together:
		return r.World, true
	case f.job != nil && len(f.job.Rows()) > 1:
		return len(f.job.Rows()), false
	}
	return 0, false
}

// controller returns the controller of a file's settings, nil for none.
func (f *file) controller() trace.Controller {
	if ranks, itself := f.together(); ranks > 0 && !itself {
		return ofAll{f.job, f.at}
	}
	to, _ := f.source.(trace.Controller)
	return to
}

// foresees returns the predictor for a file's settings, nil for none.
func (f *file) foresees() predictor {
	if f.job != nil {
		return ofAll{f.job, f.at}
	}
	to, _ := f.source.(predictor)
	return to
}

// loadedRanks is how many ranks stay loaded: the shown one, one for comparison,
// and some to return to at once. Each running program takes up to 48 MiB.
const loadedRanks = 4

// job is the job whose ranks are the files; its source is nil without a job.
type job struct {
	source Ranks
	page   *rankspage.Page
	hear   func(Ranks) tea.Cmd // waits for newer rows
	inside string              // the last shown page of a rank
	recent []*file             // the files shown last, in order
}

func newJob(source Ranks, theme *screen.Theme) job {
	j := job{source: source, hear: hearRows, inside: page.Overview}
	j.page = rankspage.New(theme, source == nil, source != nil && source.Changed() != nil)
	if source != nil {
		j.page.Take(source.Rows())
	}
	return j
}

// rowsMsg says that there are newer rows.
type rowsMsg struct{}

func hearRows(source Ranks) tea.Cmd {
	return func() tea.Msg {
		<-source.Changed()
		return rowsMsg{}
	}
}

// begin waits for rows, if there will be any.
func (j *job) begin() tea.Cmd {
	if j.source == nil || j.source.Changed() == nil {
		return nil
	}
	return j.hear(j.source)
}

// takeRows takes newer rows, unless the user froze the screen.
func (m *Model) takeRows() tea.Cmd {
	if !m.file().growth.frozen {
		m.job.page.Take(m.job.source.Rows())
	}
	return m.job.hear(m.job.source)
}

// enter goes into a rank, to the last page shown of a rank. Esc comes back.
func (m *Model) enter(at int) tea.Cmd {
	if at >= len(m.files) {
		return nil
	}
	cmd := m.show(at)
	m.page, m.trail = m.job.inside, []string{page.Ranks}
	return cmd
}

// neighbourFile goes to the next file or the one before: on the page of ranks by the
// cursor, elsewhere with the page, the cursor and the way back kept.
func (m *Model) neighbourFile(direction int) tea.Cmd {
	if m.job.source == nil {
		return m.show(m.at + direction)
	}
	if m.shown() == page.Ranks {
		m.job.page.Turn(direction)
		return nil
	}
	trail := m.trail
	cmd := m.show(m.at + direction)
	m.trail = trail
	m.job.page.Select(m.at)
	return cmd
}

// looked notes that a file is shown. If many files are loaded, it drops the one
// that was shown longest ago.
func (m *Model) looked(f *file) tea.Cmd {
	if m.job.source == nil {
		return nil
	}
	m.job.recent = append(slices.DeleteFunc(m.job.recent, func(other *file) bool { return other == f }), f)
	for i, old := range m.job.recent[:max(len(m.job.recent)-loadedRanks, 0)] {
		if m.control.concerns(old) {
			continue
		}
		m.job.recent = slices.Delete(m.job.recent, i, i+1)
		delete(m.control.asked, old)
		return old.letGo()
	}
	return nil
}

// letGo drops the loaded data. Showing the file again loads it again.
func (f *file) letGo() tea.Cmd {
	if f.state == loading {
		f.stop()
	}
	f.attempt++
	source := f.source
	f.state, f.source, f.trace, f.views, f.growth = idle, nil, nil, nil, growth{}
	if source == nil {
		return nil
	}
	return closing(source)
}
