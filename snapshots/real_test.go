package snapshots_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memtop/snapshots"
	"memtop/snapshots/analysis"
	"memtop/snapshots/pytorch/pytorchtest"
)

// expectation is one line of expected.jsonl: what report --json must say of a
// real file, field by field.
type expectation struct {
	File        string           `json:"file"`
	Devices     []map[string]any `json:"devices"`
	Annotations any              `json:"annotations"`
}

func expectations(t *testing.T) []expectation {
	t.Helper()
	f, err := os.Open(filepath.Join(pytorchtest.SharedFolder(t), "expected.jsonl"))
	if err != nil {
		t.Skip("no expected numbers beside the real files: ", err)
	}
	defer f.Close()
	var all []expectation
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e expectation
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestReportOfRealFiles compares the report with the expected numbers of every
// real file: each field that is expected must be there and equal.
func TestReportOfRealFiles(t *testing.T) {
	for _, want := range expectations(t) {
		t.Run(want.File, func(t *testing.T) {
			got := reportOf(t, filepath.Join(pytorchtest.SharedFolder(t), want.File))
			if diff := cmp.Diff(want.Annotations, got["annotations"]); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			devices, _ := got["devices"].([]any)
			if len(devices) != len(want.Devices) {
				t.Fatalf("%d devices are reported, want %d", len(devices), len(want.Devices))
			}
			for i, device := range want.Devices {
				reported, _ := devices[i].(map[string]any)
				for field, value := range device {
					if diff := cmp.Diff(value, reported[field]); diff != "" {
						t.Errorf("device %d, %s (-want +got):\n%s", i, field, diff)
					}
				}
			}
		})
	}
}

// reportOf returns a file's report as any reader of the JSON sees it.
func reportOf(t *testing.T, path string) map[string]any {
	t.Helper()
	source, err := snapshots.Open(t.Context(), path, snapshots.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	text, err := json.Marshal(analysis.NewReport(source.Trace()))
	if err != nil {
		t.Fatal(err)
	}
	var report map[string]any
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	return report
}
