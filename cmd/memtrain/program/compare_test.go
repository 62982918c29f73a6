package program

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// TestAComparisonIsItsRunsByThemselves compares rows with memtrain's output for
// the same run, with the last step's peak if no other is higher.
func TestAComparisonIsItsRunsByThemselves(t *testing.T) {
	small := []string{"--model", "llama", "--layers", "2", "--dim", "32", "--seq", "32", "--batch", "4"}
	var stdout, stderr bytes.Buffer
	const settings = "none; checkpoint=block amp=bf16; half; half=fp16 main_copies=off; micro_batch=1 offload=optimizer,gradients"
	if code := Run(append([]string{"compare", "--json", "--steps", "2", "--settings", settings}, small...), &stdout, &stderr, Reach{}); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var rows []compared
	if err := json.Unmarshal(stdout.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		settings string
		flags    []string
	}{
		{"none", nil},
		{"checkpoint=block amp=bf16", []string{"--checkpoint", "block", "--amp", "bf16"}},
		{"half=bf16", []string{"--half"}},
		{"half=fp16 main_copies=off", []string{"--half=fp16", "--main-copies", "off"}},
		{"micro_batch=1 offload=optimizer,gradients", []string{"--micro-batch", "1", "--offload", "optimizer+gradients"}},
	}
	if len(rows) != len(tests) {
		t.Fatalf("%d rows, want %d", len(rows), len(tests))
	}
	for i, test := range tests {
		row, run := rows[i], ran(t, append(slices.Clip(small), test.flags...))
		if row.Settings != test.settings || *row.PeakAllocated != run.PeakAllocated || *row.PeakReserved != run.PeakReservedBytes || *row.Loss != *run.Loss {
			t.Errorf("%s: %d bytes allocated, %d reserved, loss %v; by itself %d, %d and %v", row.Settings,
				*row.PeakAllocated, *row.PeakReserved, *row.Loss, run.PeakAllocated, run.PeakReservedBytes, *run.Loss)
		}
		first := rows[0]
		if i > 0 && (*row.Saved != 100*(1-float64(*row.PeakAllocated)/float64(*first.PeakAllocated)) ||
			*row.Slowdown != 100*(float64(*row.StepTimeNS)/float64(*first.StepTimeNS)-1) || *row.LossChange != *row.Loss-*first.Loss) {
			t.Errorf("%s: %.2f %% saved, %.2f %% slower, %v of loss", row.Settings, *row.Saved, *row.Slowdown, *row.LossChange)
		}
	}
}
