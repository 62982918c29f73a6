package replay

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
)

// TestFilesOfNewSettingsReplayEventByEvent has files that PyTorch 2.15 wrote on the
// imitated GPU: one with a reserve of expandable segments, which a request exceeds,
// and one with memory that was asked for at an address.
func TestFilesOfNewSettingsReplayEventByEvent(t *testing.T) {
	const withReserve = "expandable_segments:True,expandable_segments_reserve:4G"
	for name, settings := range map[string]string{"reserve.torch2.15": withReserve, "addressed.torch2.15": ""} {
		t.Run(name, func(t *testing.T) {
			source, err := snapshots.Open(t.Context(), "../../snapshots/pytorch/testdata/"+name+".pickle.gz", snapshots.Options{})
			fatal.If(t, err)
			defer func() { _ = source.Close() }()
			a := ask(t, whatif.Question{Trace: source.Trace(), Event: -1})
			if a.Recorded.WhyNot != "" || a.Recorded.Settings != settings {
				t.Errorf("under %q: %s", a.Recorded.Settings, a.Recorded.WhyNot)
			}
			if settings == "" {
				return
			}
			at := slices.IndexFunc(a.Runs, func(r whatif.Run) bool { return r.Settings == "expandable_segments:True" })
			if at < 0 || !a.Runs[at].Fits || a.Again.Fits {
				t.Errorf("without its reserve the request is to fit, with it not: %+v and %+v", a.Again, a.Runs)
			}
			if text := strings.Join(a.Sentences(), " "); !strings.Contains(text, "78.7 GiB reserved: expandable_segments_reserve lets") {
				t.Error(text)
			}
		})
	}
}
