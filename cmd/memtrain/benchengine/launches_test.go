package main

import (
	"io"
	"testing"
)

// TestAStepLaunchesLittle holds a step of GPT-2 124M, as `make count-launches` has it,
// to what it may launch and move.
func TestAStepLaunchesLittle(t *testing.T) {
	all, err := countLaunches(options{layers: 12, batch: 16, length: 1024, amp: "bf16", checkpoint: "none"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d launches, %.1f GB moved", all.times, all.moved/1e9)
	if all.times > 350 || all.times < 100 {
		t.Errorf("%d launches, want at most 350, and a step at all", all.times)
	}
	if all.moved > 22e9 || all.moved < 1e9 {
		t.Errorf("%.1f GB moved outside products and attention, want at most 22, and a step at all", all.moved/1e9)
	}
}
