package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// tally counts what was tried and what came of it. It is safe for concurrent
// use.
type tally struct {
	options *options
	start   time.Time

	mu       sync.Mutex
	files    int
	failures int
	rows     map[string]*row
	classes  map[string]int // failures that look alike
}

// row is about one way to run the program.
type row struct {
	runs   int
	codes  map[int]int
	slow   time.Duration
	memory int64
}

func newTally(o *options) tally {
	return tally{options: o, start: time.Now(), rows: map[string]*row{}, classes: map[string]int{}}
}

func (t *tally) file() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files++
}

func (t *tally) run(name string, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[name]
	if r == nil {
		r = &row{codes: map[int]int{}}
		t.rows[name] = r
	}
	r.runs++
	r.codes[o.code]++
	r.slow, r.memory = max(r.slow, o.took), max(r.memory, o.peak)
}

// shownOfAClass is how many failures that look alike are printed and kept.
const shownOfAClass = 3

var details = regexp.MustCompile(`"[^"]*"|U\+[0-9A-F]+|[0-9]+`)

// fail keeps the file and says how to see the failure again.
func (t *tally) fail(s *sample, i invocation, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures++
	class := details.ReplaceAllString(strings.ReplaceAll(reason, s.path, "FILE"), "N")
	class, _, _ = strings.Cut(class, "\n")
	t.classes[class]++
	if t.classes[class] > shownOfAClass {
		return
	}
	kept := filepath.Join(t.options.keep, fmt.Sprintf("%d-%d", t.options.seed, s.number))
	if err := keep(s, kept); err != nil {
		reason += "; keeping the files: " + err.Error()
	}
	args := strings.ReplaceAll(strings.Join(i.args, " "), s.folder, kept)
	fmt.Printf("FAIL %s, seed %d, file %d (%s: %s)\n  %.2000s\n  %s %s\n  go run ./cmd/tools/fuzzmutate -seed %d -only %d\n", i.name,
		t.options.seed, s.number, s.name, strings.Join(s.changes, ", "), reason, t.options.memtop, args, t.options.seed, s.number)
}

func keep(s *sample, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.CopyFS(folder, os.DirFS(s.folder))
}

func (t *tally) progress(w io.Writer, of uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(w, "%v: %d of %d files, %d runs, %d failures\n", time.Since(t.start).Round(time.Second), t.files, of, t.runs(), t.failures)
}

func (t *tally) runs() int {
	sum := 0
	for _, r := range t.rows {
		sum += r.runs
	}
	return sum
}

// print prints a table of the runs, then the failures by class, then a line.
func (t *tally) print(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	codes := t.codes()
	fmt.Fprint(w, "command\truns\t")
	for _, code := range codes {
		fmt.Fprintf(w, "exit %d\t", code)
	}
	fmt.Fprintln(w, "slowest\tmost memory\t")
	for _, name := range slices.Sorted(maps.Keys(t.rows)) {
		r := t.rows[name]
		fmt.Fprintf(w, "%s\t%d\t", name, r.runs)
		for _, code := range codes {
			fmt.Fprintf(w, "%d\t", r.codes[code])
		}
		fmt.Fprintf(w, "%d ms\t%d MiB\t\n", r.slow.Milliseconds(), r.memory>>20)
	}
	_ = w.Flush() // as for every other line printed
	for _, class := range slices.Sorted(maps.Keys(t.classes)) {
		fmt.Fprintf(out, "%d × %s\n", t.classes[class], class)
	}
	fmt.Fprintf(out, "seed %d: %d mutated files, %d runs in %v, %d failures", t.options.seed, t.files, t.runs(), time.Since(t.start).Round(time.Second), t.failures)
	if t.failures > 0 {
		fmt.Fprintf(out, "; their files are in %s", t.options.keep)
	}
	fmt.Fprintln(out)
}

// codes returns the exit codes that occurred.
func (t *tally) codes() []int {
	all := map[int]bool{}
	for _, r := range t.rows {
		for code := range r.codes {
			all[code] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
