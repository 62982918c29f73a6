package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

const pinned = tracetest.Frames + `
device 0
segment 0x10000000 20971520 stream=0 type="large" pool=0,0
block 0x10000000 1048576 active_allocated requested=1048000 stack=main
block 0x10100000 2097152 active_allocated requested=2097152 stack=act
block 0x10300000 17825792 inactive
segment 0x20000000 20971520 stream=0 type="large" pool=0,1
block 0x20000000 20971520 inactive
segment 0x30000000 2097152 stream=7 type="small" pool=0,0
block 0x30000000 512 active_pending_free requested=1 stack=act
block 0x30000200 2096640 inactive
segment 0x40000000 41943040 stream=0 type="large" expandable=true pool=0,0
block 0x40000000 1048576 active_allocated requested=1048576 stack=main
block 0x40100000 40894464 inactive
`

func TestMapSaysWhoPinsASegment(t *testing.T) {
	m := indexOf(t, pinned).SegmentsAt(0)
	var got []string
	for i := range m.Segments {
		pin := "none"
		if p := m.Segments[i].Pin; p != nil {
			pin = fmt.Sprintf("%x", p.Addr)
		}
		got = append(got, pin)
	}
	// The second segment is wholly free, the last one expandable.
	if want := "10000000 none 30000000 none"; strings.Join(got, " ") != want {
		t.Errorf("pins: got %v, want %s", got, want)
	}
	if m.Releasable != 20*mib {
		t.Errorf("releasable: got %d, want the wholly free segment", m.Releasable)
	}
}

func TestMapSaysWhatFitsWithoutANewSegment(t *testing.T) {
	x := indexOf(t, pinned)
	m := x.SegmentsAt(0)
	var got []string
	for _, f := range m.Fits {
		pool := x.tables.Pools[f.Pool]
		got = append(got, fmt.Sprintf("pool %v stream %d %s: %d of %d in %d", pool, x.tables.Stream(f.Stream), f.Type, f.Largest, f.Free, f.Blocks))
	}
	want := []string{
		"pool [0 0] stream 0 large: 40894464 of 58720256 in 2",
		// A small segment serves no request above 1 MiB.
		"pool [0 0] stream 7 small: 1048576 of 2096640 in 1",
		"pool [0 1] stream 0 large: 20971520 of 20971520 in 1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m.Pending != 512 || m.Rounding != 576+511 {
		t.Errorf("got %d pending and %d rounding, want 512 and 1087", m.Pending, m.Rounding)
	}
}

func TestAnExpandableSegmentIsOneAsItGrowsAndShrinks(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
device 0
segment_map 0x10000000 20971520 stack=act
segment_map 0x11400000 20971520 stack=act
segment_unmap 0x10000000 20971520 stack=act
segment_alloc 0x50000000 2097152 stack=main
segment 0x11400000 20971520 stream=0 type="large" expandable=true
block 0x11400000 20971520 inactive
segment 0x50000000 2097152 stream=0 type="small"
block 0x50000000 2097152 inactive
`)
	m := x.SegmentsAt(1)
	if len(m.Segments) != 1 || m.Segments[0].Size != 40*mib || !m.Segments[0].Expandable {
		t.Errorf("after both maps: got %+v, want one segment of 40 MiB", m.Segments)
	}
}

func TestMemoryOutsideOfEverySegmentIsSaid(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
device 0
alloc 0x1000 4096 stack=act
alloc 0x9000 512 stack=act
`)
	if m := x.SegmentsAt(0); m.Outside != 4096 || m.OutsideCount != 1 || len(m.Segments) != 0 {
		t.Errorf("got %+v, want 4096 bytes outside", m)
	}
}
