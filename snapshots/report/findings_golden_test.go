package report_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
)

var updateFindings = flag.Bool("update-findings", false, "rewrite the golden findings")

// findingsOf returns the findings of a file's devices, as sentences.
func findingsOf(t *testing.T, path string) []string {
	t.Helper()
	tr := open(t, path)
	var sentences []string
	for i := range tr.Devices {
		for _, f := range analysis.NewIndex(tr, &tr.Devices[i]).Findings() {
			sentences = append(sentences, f.Kind.Name+": "+f.Text())
		}
	}
	return sentences
}

// TestFindingsOfRealFiles compares what is found in real files with what was
// reviewed.
func TestFindingsOfRealFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pytorchtest.SharedFolder(t), "*.torch*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := strings.Join(findingsOf(t, file), "\n") + "\n"
			path := filepath.Join("testdata", "findings", filepath.Base(file)+".golden")
			if *updateFindings {
				fatal.If(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			fatal.If(t, err)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
