package report

import (
	"encoding/json"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis"

	"github.com/google/go-cmp/cmp"
)

// TestAReportSaysTheSameOfAnIndexThatWasNotPrepared also makes an index of lifetimes that were
// not replayed while the file was read: those are given away once.
func TestAReportSaysTheSameOfAnIndexThatWasNotPrepared(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		s, err := snapshots.Open(t.Context(), path, snapshots.Options{})
		fatal.If(t, err)
		tr := s.Trace()
		prepared, err := json.Marshal(New(tr))
		fatal.If(t, err)
		indexes := make([]*analysis.Index, len(tr.Devices))
		for i := range tr.Devices {
			indexes[i] = analysis.NewIndex(tr, &tr.Devices[i])
		}
		plain, err := json.Marshal(Of(tr, indexes))
		fatal.If(t, err)
		if diff := cmp.Diff(string(plain), string(prepared)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
