package job

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/attach"
)

// BenchmarkAsk asks 64 ranks in turn how they are, as a follower does ten times a second.
// The ranks' own part, in the same process, is in the figure.
func BenchmarkAsk(b *testing.B) {
	folder := filepath.Join(b.TempDir(), "probes")
	var ranks []*rank
	var tellers []*attach.Teller
	for i := range 64 {
		path := filepath.Join(folder, fmt.Sprint(i))
		p := probetest.New()
		p.Finish(listening(b, path, i%3, p))
		r := newRank(member(b, path))
		teller, err := r.member.Machine.Teller(b.Context(), path)
		fatal.If(b, err)
		ranks, tellers = append(ranks, r), append(tellers, teller)
	}
	for i := 0; b.Loop(); i++ {
		fatal.If(b, ranks[i%64].once(b.Context(), tellers[i%64]))
	}
}
