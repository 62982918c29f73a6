package main

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
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
