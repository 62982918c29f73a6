package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
)

// entry is a prediction for a change, which was off by so much.
func entry(change string, off float64) proposals.Entry {
	return proposals.Entry{Kind: proposals.Kind{Program: "PyTorch", Model: "GPT"}, Change: change, Key: "amp", Value: "bf16", Peak: &off}
}

func TestPredictionsAreRememberedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memtop", "ledger.json")
	first := proposals.Ledger{entry("1.1.1", 0.02), entry("1.1.2", -0.04)}
	if got, err := store(path, first); err != nil || len(got) != 2 {
		t.Fatalf("got %v and %v", got, err)
	}
	got, err := store(path, proposals.Ledger{entry("1.1.2", -0.04), entry("1.2.1", 0.06)})
	if err != nil {
		t.Fatal(err)
	}
	want := append(first, entry("1.2.1", 0.06))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again, err := store(path, nil); err != nil || !cmp.Equal(want, again) {
		t.Errorf("read again: %v and %v", again, err)
	}
	if e := got.About(proposals.Kind{Program: "PyTorch", Model: "GPT"}).Of("amp"); e == nil || e.Predictions != 3 {
		t.Errorf("the error is %+v", e)
	}
}

func TestSeveralMemtopsAddToOneLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.json")
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for k := range 5 {
				_, err := store(path, proposals.Ledger{entry(fmt.Sprintf("%d.%d", i, k), 0)})
				for errors.Is(err, output.ErrBusy) { // on a busy machine others may have it for long
					_, err = store(path, proposals.Ledger{entry(fmt.Sprintf("%d.%d", i, k), 0)})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if all, err := store(path, nil); err != nil || len(all) != 40 {
		t.Errorf("%d entries of 40, and %v", len(all), err)
	}
}

func TestALedgerIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.json")
	var many proposals.Ledger
	for i := range 5000 {
		many = append(many, entry(fmt.Sprint(i), 0.123456789))
	}
	all, err := store(path, many)
	if err != nil || len(all) >= 5000 || all[len(all)-1].Change != "4999" {
		t.Fatalf("%d entries are kept, and %v", len(all), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 2<<20 {
		t.Errorf("it has %v bytes, and %v", info, err)
	}
}

func TestADamagedLedgerIsKeptBesideANewOne(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON": "\x00\x00", "cut off": `{"schema": "memtop.ledger/2", "entries": [{"key"`, "of another version": `{"schema": "memtop.ledger/9"}`, "of an earlier one": `{"schema": "memtop.ledger/1", "entries": [{"key": "amp", "peak": 9}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := store(path, proposals.Ledger{entry("1", 0)})
			if err == nil || !strings.Contains(err.Error(), "is no ledger") || strings.Contains(err.Error(), "\n") || len(got) != 1 {
				t.Errorf("got %v and %v", got, err)
			}
			if kept, err := os.ReadFile(path + ".damaged"); err != nil || string(kept) != content {
				t.Errorf("kept %q and %v", kept, err)
			}
			if again, err := store(path, nil); err != nil || len(again) != 1 {
				t.Errorf("afterwards %v and %v", again, err)
			}
		})
	}
}
