package main

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/report"
)

// # Reports of others
//
// testdata/reports has programs that were made after public reports of memory problems, each before anybody looked at
// what memtop says of it. reports.tsv says of each what a rehearsal must say, what it must never say, what is true, and
// where the report is. An empty `must` is of a problem that memtop does not name yet: it may not say what is wrong.

// TestRehearsedReports rehearses each program to its end.
func TestRehearsedReports(t *testing.T) {
	python := cudaPython(t)
	file, err := os.Open("testdata/reports/reports.tsv")
	fatal.If(t, err)
	defer file.Close()
	table := csv.NewReader(file)
	table.Comma, table.LazyQuotes = '\t', true
	rows, err := table.ReadAll()
	fatal.If(t, err)
	for _, row := range rows[1:] {
		name, flags, ranks, must, never := row[0], strings.Fields(row[1]), row[2], row[3], row[4]
		t.Run(name, func(t *testing.T) {
			program, err := filepath.Abs(filepath.Join("testdata/reports", name+".py"))
			fatal.If(t, err)
			words := append([]string{"rehearse", "--steps", "100000", "--gpus", ranks}, flags...)
			words = append(words, "--", python)
			if ranks != "1" && len(flags) == 0 {
				words = append(words, "-m", "torch.distributed.run", "--nproc-per-node", ranks)
			} else {
				t.Parallel() // launchers listen on one port
			}
			cmd := exec.CommandContext(t.Context(), "memtop", append(words, program, "bug")...)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "OMP_NUM_THREADS=1")
			output, _ := cmd.Output() // what does not fit has another exit code
			said := strings.Join(strings.Fields(strings.ReplaceAll(string(output), name, "program")), " ")
			for _, pattern := range strings.Split(must, " && ") {
				if !regexp.MustCompile(pattern).MatchString(said) {
					t.Errorf("it does not say %q: %s", pattern, said)
				}
			}
			for _, pattern := range strings.Split(never, " && ") {
				if found := regexp.MustCompile(pattern).FindString(said); pattern != "" && found != "" {
					t.Errorf("it says %q: %s", found, said)
				}
			}
		})
	}
}

// TestRehearsedSavingsAreTrue holds savings that findings promise of two of these programs against what the same
// program takes with the change, which --advice rehearses.
func TestRehearsedSavingsAreTrue(t *testing.T) {
	python := cudaPython(t)
	for name, want := range map[string]struct{ finding, change string }{
		"dense_embedding": {"foreach_temporaries", "fused=True"},
		"need_weights":    {"checkpointing", "checkpointing of"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearseWith(t, "--advice", "--steps", "100000", "--", python, filepath.Join("testdata/reports", name+".py"), "bug")
			if len(r.Ranks) != 1 {
				t.Fatalf("code %d, %s", r.code, r.stderr)
			}
			on := &r.Ranks[0]
			said := slices.IndexFunc(on.Findings, func(f report.Finding) bool { return f.Kind == want.finding })
			tried := slices.IndexFunc(on.Tried, func(c report.Remedy) bool { return strings.HasPrefix(c.Change, want.change) && c.Refused == "" })
			if said < 0 || tried < 0 {
				t.Fatalf("findings %+v, tried %+v", on.Findings, on.Tried)
			}
			saves, took := on.Findings[said].SavingBytes, on.PeakAllocated-on.Tried[tried].Allocated
			if took <= 0 || float64(max(saves-took, took-saves)) > 0.05*float64(took) {
				t.Errorf("it says that it saves %d, and it saves %d", saves, took)
			}
		})
	}
}
