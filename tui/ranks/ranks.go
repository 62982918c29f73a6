// Package ranks is the page of the ranks of a job, side by side: a row for each,
// the rank that will run out of memory first at the top, and below the
// differences between the ranks.
package ranks

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// Enter is the message that asks for the rank of a row, by its index among the
// rows as they arrived.
type Enter struct{ At int }

// row is a rank in the table.
type row struct {
	*ranks.Row
	at  int // index among the rows as they arrived
	job *Page
}

// Page is the page of ranks. There is one for the whole job, which is the same
// for every shown rank.
type Page struct {
	page.Body
	theme   *screen.Theme
	table   page.Table[row, int]
	jobless bool // a single process or file is shown

	rows   []ranks.Row // as they arrived; never changed
	stale  bool        // the table shows older rows
	unread bool        // some of them are of files that had not been read
	chosen bool        // the user has chosen a rank
	hosts  int
	median int64 // of the peaks
	// least and most are the scale of all charts.
	least, most int64
	found       []ranks.Finding
	said        []page.Line // the lines below the table
}

// New returns the page of a job or, for a single process or file, a page that
// says so. For a running job the End key goes to the present, not to the last
// row.
func New(t *screen.Theme, alone, runs bool) *Page {
	p := &Page{Body: page.NewBody(nil, "Ranks"), theme: t, jobless: alone}
	p.table = page.Table[row, int]{
		Columns: p.columns(), Noun: "rank", Body: &p.Body, Style: styleOf,
		Key: func(r row) int { return r.at }, Open: p.enter, Arranged: p.arrange,
		SearchHint: "a rank, a host, a command, a problem", FilterHint: "a rank, a host, a command, a problem",
	}
	p.table.Start(page.Order{By: headroomHead})
	p.bind(runs)
	return p
}

// Take takes newer rows, in the same order as the old ones.
func (p *Page) Take(rows []ranks.Row) { p.rows, p.stale = rows, true }

// Select puts the cursor on the row with an index among the rows as they arrived.
func (p *Page) Select(at int) {
	p.arrangeNew()
	p.table.Select(at)
	p.chosen = true
}

// Turn puts the cursor on the next rank by number, or the one before, around the ends.
func (p *Page) Turn(direction int) {
	r, ok := p.table.Current()
	if n := len(p.rows); ok && n > 0 {
		p.table.Filter = ""
		p.arrange()
		p.table.Select((r.at + direction + n) % n)
		p.chosen = true
		p.Detail.Offset = 0
	}
}

// arrangeNew shows newer rows.
func (p *Page) arrangeNew() {
	if p.stale {
		p.stale = false
		p.compare()
		p.arrange()
	}
}

// arrange puts the rows into the user's order. While files are read, the cursor stays
// at the top, where the rank in trouble comes, unless the user has chosen a rank.
func (p *Page) arrange() {
	shown := make([]row, len(p.rows))
	for i := range p.rows {
		shown[i] = row{&p.rows[i], i, p}
	}
	t := &p.table
	if p.chosen = p.chosen || t.Cursor > 0; p.unread && !p.chosen {
		t.Unselect()
	}
	p.unread = slices.ContainsFunc(p.rows, func(r ranks.Row) bool { return r.Problem == ranks.NotRead })
	t.Show(page.Arrange(shown, t.Columns, t.Order, t.Filter), t.Order)
}

// compare computes the values of all rows with which each is compared.
func (p *Page) compare() {
	p.found = ranks.Findings(p.rows)
	p.median, p.least, p.most = ranks.MedianPeak(p.rows), 0, 0
	hosts, first := make(map[string]bool), true
	for i := range p.rows {
		hosts[p.rows[i].Host] = true
		for _, n := range p.rows[i].Recent {
			if first {
				p.least, p.most, first = n, n, false
			}
			p.least, p.most = min(p.least, n), max(p.most, n)
		}
	}
	p.hosts = len(hosts)
}

// Refresh arranges rows that are new.
func (p *Page) Refresh(w, h int) tea.Cmd {
	table, detail := areas(w, h)
	p.table.Place(table)
	p.arrangeNew()
	p.said = p.lines(w)
	p.Detail.Resize(len(p.said), detail.H-1)
	return nil
}

// enter asks for the selected rank.
func (p *Page) enter() tea.Cmd {
	r, ok := p.table.Current()
	if !ok {
		return nil
	}
	p.chosen = true
	return func() tea.Msg { return Enter{r.at} }
}

// Lacks says that there is no job.
func (p *Page) Lacks() string {
	if p.jobless {
		return "Ranks are those of a job of several processes, as mpirun, torchrun or srun start them"
	}
	return ""
}
