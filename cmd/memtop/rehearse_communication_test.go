package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestRehearsedCommunicationIsWhatTheProgramCounts has buckets, buffers of FSDP2 and results of collectives alive at a
// peak, of which the program asks PyTorch's own objects. Weights that stay gathered are a finding, and with the
// change that it proposes they do not.
func TestRehearsedCommunicationIsWhatTheProgramCounts(t *testing.T) {
	const script = "testdata/rehearse/communication.py"
	for how, finds := range map[string]bool{"sharded": false, "kept": true, "split": false, "views": false} {
		t.Run(how, func(t *testing.T) {
			r := rehearseWith(t, "--no-advice", "--steps", "all", "--world", "2", "--rank", "0", "--", besideOthers(t), script, how)
			if r.code != 0 || len(r.Ranks) != 1 {
				t.Fatalf("code %d, %d ranks: %s", r.code, len(r.Ranks), r.stderr)
			}
			var counted map[string]int64
			line := r.stderr[max(0, strings.Index(r.stderr, "{")):]
			if err := json.NewDecoder(strings.NewReader(line)).Decode(&counted); err != nil {
				t.Fatalf("%v in %s", err, r.stderr)
			}
			for name, want := range counted {
				category, _ := trace.NamedCategory(name)
				if got := r.Ranks[0].CategoriesAtPeak.Bytes[category]; got != want {
					t.Errorf("%s: %d bytes, the program counts %d", name, got, want)
				}
			}
			if got := r.Ranks[0].Finds("stays_gathered"); got != finds {
				t.Errorf("stays_gathered is said: %t", got)
			}
		})
	}
}
