//go:build linux

package sensor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/trace"
)

const gib = 1 << 30

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func TestMemoryThatHasGrownByAQuarterIsLookedAt(t *testing.T) {
	for name, test := range map[string]struct {
		held    int64
		seconds float64
		want    bool
	}{
		"by a quarter":            {gib * 5 / 4, 100, true},
		"by a byte less":          {gib*5/4 - 1, 100, false},
		"so soon that it costs":   {2 * gib, 4, false},
		"as soon as it is cheap":  {2 * gib, 5, true},
		"a small one by a little": {gib + 1, 100, false},
	} {
		p := pressure{}
		p.seen(at(0), 100*time.Millisecond, gib)
		if got := p.grows(at(test.seconds), test.held); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestALittleMemoryGrowsByManyBytesBeforeALook(t *testing.T) {
	p := pressure{}
	if p.grows(at(0), 1000) || p.grows(at(1), 64<<20) {
		t.Error("looked at less than 64 MiB more")
	}
	if !p.grows(at(2), 1000+64<<20) || p.grows(at(3), 1000+64<<20) {
		t.Error("not looked at once")
	}
}

func TestLooksForGrowthEnd(t *testing.T) {
	p, looks := pressure{}, 0
	for n := range 100 {
		p.seen(at(float64(n)), 0, gib)
		if p.grows(at(float64(n)), 2*gib) {
			looks++
		}
	}
	if looks != mostLooks {
		t.Errorf("%d looks, want %d", looks, mostLooks)
	}
}

func TestMemoryThatRunsOutIsLookedAtAgainWhenATenthOfTheRestIsGone(t *testing.T) {
	p := pressure{}
	var looked []int64
	for n, left := range []int64{400, 110, 99, 95, 90, 89, 80} {
		if p.runsOut(at(1000*float64(n)), left, 1000) { // slowly
			looked = append(looked, left)
		}
	}
	if len(looked) != 3 || looked[0] != 99 || looked[1] != 89 || looked[2] != 80 {
		t.Errorf("looked with %v left", looked)
	}
	if !p.close {
		t.Error("it is not close to its end")
	}
}

func TestMemoryThatShrinksFastIsAsGoodAsGone(t *testing.T) {
	p := pressure{}
	if p.runsOut(at(0), 900, 1000) || p.runsOut(at(1), 800, 1000) || p.close {
		t.Error("with eight seconds left")
	}
	if !p.runsOut(at(2), 600, 1000) || !p.close {
		t.Error("not with three seconds left")
	}
}

// TestTheMachineIsMeasuredWhileNobodyWatches has an agent send a gauge once: the host
// adds others to the box by itself, and asks for a look when its program has grown.
func TestTheMachineIsMeasuredWhileNobodyWatches(t *testing.T) {
	boxes := filepath.Join(t.TempDir(), "boxes")
	fatal.If(t, os.Mkdir(boxes, 0o700))
	h := hosting(t)
	p := greeted(t, h, func(g *greeting) { g.Who.BlackBox = boxes })
	p.send(entry(gaugesKind, raw(`[{"device":0,"forked":[],"host":{"step":3,"malloc":9}}]`)))
	a := await(t, h)
	probetest.Eventually(t, "the first measure", func() bool { a.adding.Lock(); defer a.adding.Unlock(); return a.pressure.held > 0 })
	grown := make([]byte, 600<<20)
	for i := range grown {
		if i%4096 == 0 {
			grown[i] = 1
		}
	}
	if q := p.asked(); q.Do != "look" {
		t.Errorf("asked %+v", q)
	}
	p.send(entry(lookedKind, number(1)))
	until(t, p.follow(), "a gauge that has grown, with what the agent said before", func(now *trace.Trace) bool {
		g := now.LastOfHost()
		return g != nil && g.Process > 128<<20 && g.Host.Malloc == 9
	})
	if grown[0] != 1 {
		t.Fatal("it was freed")
	}
}
