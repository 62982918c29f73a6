package tui

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/tui/keys"
)

// startJob opens a made job whose ranks are all the same process.
func startJob(t testing.TB, w, h, n int, o Options) (*driver, *tuitest.Job, []*tuitest.Process) {
	t.Helper()
	job := tuitest.NewJob(n)
	var files []File
	var processes []*tuitest.Process
	for i := range n {
		p := tuitest.NewProcess(3 + i%4)
		p.Join(job.Rows()[i].Rank)
		processes = append(processes, p)
		job.Processes = processes
		f := processFile(p)
		f.Name = "rank " + strconv.Itoa(i) + " of " + strconv.Itoa(n)
		files = append(files, f)
	}
	o.Ranks = job
	return start(t, w, h, o, files...), job, processes
}

func TestScreensOfRanks(t *testing.T) {
	tests := map[string]struct {
		w, h, n int
		o       Options
		keys    []string
	}{
		"four-80x24":          {80, 24, 4, Options{Color: "never"}, nil},
		"four-80x24-colour":   {80, 24, 4, Options{Color: "always"}, nil},
		"sixteen-60x16":       {60, 16, 16, Options{Color: "never"}, nil},
		"many-80x24":          {80, 24, 64, Options{Color: "never"}, []string{"G"}},
		"many-200x60":         {200, 60, 64, Options{Color: "never"}, nil},
		"many-200x60-ascii":   {200, 60, 64, Options{Color: "never", ASCII: true}, nil},
		"help-80x24":          {80, 24, 4, Options{Color: "never"}, []string{"?"}},
		"a-rank-80x24":        {80, 24, 4, Options{Color: "never"}, []string{"enter"}},
		"by-rank-200x60":      {200, 60, 16, Options{Color: "never"}, []string{"<", "<", "<", "<", "<", "<", "<", "<", "<", "<", "<"}},
		"filtered-80x24":      {80, 24, 64, Options{Color: "never"}, []string{"\\", "l", "o", "s", "t", "enter"}},
		"not-there-a-process": {80, 24, 1, Options{Color: "never"}, []string{"9"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, _, _ := startJob(t, test.w, test.h, test.n, test.o)
			d.press(test.keys...)
			golden(t, name, d.screen())
		})
	}
}

func TestThePageOfRanksBeginsWithWhatIsAboutToRunOut(t *testing.T) {
	d, job, _ := startJob(t, 120, 40, 12, Options{Color: "never", First: 2})
	d.wants("Ranks of llama-7b", "12 ranks", "1 out of memory", "1 not answering", "lost 12 s", "out of memory 2×")
	if first := rankRows(d)[0]; first != "11" {
		t.Errorf("the first row is rank %s, want the one that ran out of memory", first)
	}
	job.Change(func(rows []ranks.Row) {
		rows[0].PeakReserved = 79 << 30
		rows[11].OutOfMemory = 0
		rows[10].Problem = ""
	})
	d.send(rowsMsg{})
	if rows := rankRows(d); rows[0] != "0" {
		t.Errorf("the rows are %v, want rank 0 first, which has no headroom", rows)
	}
	d.wants("least headroom 0 B, rank 0", "rank 11 of 12 ·")
	d.lacks("lost 12 s")
}

// rankRows returns the numbers of the ranks in the order of the screen.
func rankRows(d *driver) []string {
	d.t.Helper()
	var rows []string
	for _, line := range strings.Split(plain(d.screen()), "\n")[4:] {
		fields := strings.Fields(line)
		if len(fields) < 5 || !strings.Contains(line, "GiB") {
			break
		}
		rows = append(rows, fields[0])
	}
	return rows
}

func TestTheCursorIsAtTheRankInTroubleWhenFilesAreRead(t *testing.T) {
	d, job, _ := startJob(t, 80, 24, 4, Options{Color: "never"})
	last := job.Rows()[3]
	job.Change(func(rows []ranks.Row) {
		for i := range rows {
			rows[i].OutOfMemory, rows[i].Problem = 0, ranks.NotRead
		}
	})
	d.send(rowsMsg{})
	job.Change(func(rows []ranks.Row) {
		rows[3] = last
		rows[3].OutOfMemory, rows[3].Problem = 1, ""
	})
	d.send(rowsMsg{})
	d.wants(" rank 3 of 4 ")
	d.press("j")
	job.Change(func(rows []ranks.Row) { rows[0].Problem, rows[0].OutOfMemory = "", 2 })
	d.send(rowsMsg{})
	d.lacks(" rank 0 of 4 ")
	d.lacks(" rank 3 of 4 ")
}

func TestARankIsEnteredAndLeft(t *testing.T) {
	d, _, _ := startJob(t, 120, 40, 8, Options{Color: "never"})
	d.press("<", "j", "enter") // which sorts by another column: any rank will do
	at := d.m.at
	d.wants("What stands out", "rank "+strconv.Itoa(at)+" of 8")
	d.press("4", "]")
	if want := (at + 1) % 8; d.m.at != want {
		t.Fatalf("] goes to rank %d, want %d", d.m.at, want)
	}
	d.wants("Live memory by category")
	d.press("[", "[")
	if want := (at + 7) % 8; d.m.at != want {
		t.Fatalf("[ goes to rank %d, want %d", d.m.at, want)
	}
	d.shows("9 enter", "Live memory by category")
	d.press("esc")
	d.wants("Ranks of llama-7b", " rank "+strconv.Itoa(d.m.at)+" of 8 ·")
}

func TestRanksThatWereNotLookedAtForAWhileAreLetGo(t *testing.T) {
	d, _, _ := startJob(t, 80, 24, 64, Options{Color: "never", Page: "timeline"})
	for range 64 {
		d.press("]")
	}
	loaded := 0
	for _, f := range d.m.files {
		if f.source != nil || f.views != nil {
			loaded++
		}
	}
	if loaded != loadedRanks {
		t.Errorf("%d ranks are loaded after all were visited, want %d", loaded, loadedRanks)
	}
	d.wants("Live memory by category", "rank 0 of 64")
}

func TestTheCursorIsAtTheSameStepInTheNextRank(t *testing.T) {
	d, _, processes := startJob(t, 120, 40, 4, Options{Color: "never", Page: "timeline"})
	processes[1].Train(5)
	d.press("left", "left", "left")
	from := d.m.file().current().scene
	step := from.StepAt(from.Cursor()).Number
	d.press("]")
	to := d.m.file().current().scene
	if got := to.StepAt(to.Cursor()); got == nil || got.Number != step {
		t.Errorf("the cursor is at step %v, want %d", got, step)
	}
	if to.Following {
		t.Error("the next rank follows")
	}
	d.press("$", "[")
	if !d.m.file().current().scene.Following {
		t.Error("the rank before does not follow with the one after it")
	}
}

func TestRanksAreShownThoughOneCannotBeLoaded(t *testing.T) {
	job := tuitest.NewJob(2)
	d := start(t, 80, 24, Options{Ranks: job, Color: "never"}, brokenFile("rank 0 of 2", "there is no process 4711"), processFile(tuitest.NewProcess(3)))
	d.wants("Ranks of llama-7b")
	d.shows("j k 1", "This file could not be opened.")
	d.shows("9 enter esc", "Ranks of llama-7b")
}

func TestAFrozenScreenTakesNoRows(t *testing.T) {
	d, job, _ := startJob(t, 80, 24, 4, Options{Color: "never"})
	d.press("space")
	job.Change(func(rows []ranks.Row) { rows[2].Problem = "" })
	d.send(rowsMsg{})
	d.wants("lost 12 s")
	d.press("space")
	d.send(rowsMsg{})
	d.lacks("lost 12 s")
}

func TestASettingIsChangedInAllRanksOrInNone(t *testing.T) {
	tests := map[string]struct {
		together bool
		asked    []int // of how many changes each rank was asked
		refusal  error
		want     string
	}{
		"ranks that agree by themselves: one is asked": {true, []int{0, 1, 0, 0}, nil, "in all 4 ranks"},
		"ranks that do not: all are asked":             {false, []int{1, 1, 1, 1}, nil, "in all 4 ranks"},
		"ranks of which one refuses: none changes":     {false, []int{0, 0, 0, 0}, errors.New("rank 2 refused: no memory"), "not changed: rank 2 refused: no memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, job, processes := startJob(t, 120, 40, 4, Options{Color: "never", First: 1})
			for i, p := range processes {
				r := job.Rows()[i].Rank
				r.Together = test.together
				p.Join(r)
			}
			job.Refusal = test.refusal
			d.news()
			d.shows("C", "C changes all 4 ranks from their next step on: | checkpoint none → block | predicted peak")
			if len(job.Predicted) != 1 || job.Predicted[0] != 3 {
				t.Errorf("predictions were asked of ranks %v, want 3, which holds most", job.Predicted)
			}
			d.press("y", "1")
			d.wants(test.want)
			for i, p := range processes {
				if got := len(p.Asked()); got != test.asked[i] {
					t.Errorf("rank %d was asked for %d changes, want %d", i, got, test.asked[i])
				}
			}
		})
	}
}

func TestWhatAChangeDidToTheRankThatHoldsMostIsSaid(t *testing.T) {
	d, job, processes := startJob(t, 160, 40, 4, Options{Color: "never", First: 1, Page: "overview"})
	processes[1].Train(20)
	d.news()
	d.press("C", "y")
	job.Change(func(rows []ranks.Row) {
		for i := range rows {
			rows[i].PeakAllocated -= 10 << 30
		}
	})
	processes[1].Train(20)
	d.news()
	d.wants("checkpoint none → block in all 4 ranks · at step 25 · highest peak 63.0 GiB → 53.0 GiB")
}

func TestKeysOfRanksMeanOneThing(t *testing.T) {
	d, _, _ := startJob(t, 80, 24, 4, Options{})
	d.press("?", "?")
	meansOneThing(t, "ranks", append(d.m.job.page.Help(), keys.Group{Title: "Everywhere", Bindings: d.m.helpful()}))
}

// BenchmarkRanks draws the page of ranks at 200×60: what newer rows of 64 ranks take, and
// what a key takes with a thousand.
func BenchmarkRanks(b *testing.B) {
	d, job, _ := startJob(b, 200, 60, 64, Options{Color: "always"})
	b.Run("64/news", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			job.Change(func(rows []ranks.Row) { rows[i%64].Allocated++ })
			d.m.job.page.Take(job.Rows())
			d.m.refresh()
			if len(d.screen()) == 0 {
				b.Fatal("nothing drawn")
			}
		}
	})
	b.Run("64/draw", func(b *testing.B) {
		for b.Loop() {
			if len(d.screen()) == 0 {
				b.Fatal("nothing drawn")
			}
		}
	})
	d, _, _ = startJob(b, 200, 60, 1000, Options{Color: "always"})
	pressed := []tea.KeyPressMsg{keyPress("j"), keyPress("pgdown"), keyPress(">"), keyPress("I"), keyPress("k"), keyPress("]"), keyPress("G")}
	b.Run("1000/key", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			d.m.Update(pressed[i%len(pressed)])
			if len(d.screen()) == 0 {
				b.Fatal("nothing drawn")
			}
		}
	})
}
