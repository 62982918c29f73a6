package attach

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestReadingsFromInsideAndOutsideCompleteEachOther(t *testing.T) {
	first, second := &trace.Card{Reserved: 1}, &trace.Card{Reserved: 2}
	inside := func(time int64, c *trace.Card) trace.Gauge {
		return trace.Gauge{Time: time, Used: 100, Process: -1, Others: -1, Card: c}
	}
	outside := func(time int64) trace.Gauge {
		return trace.Gauge{Time: time, Used: 100, Process: 60, Others: 30, Users: []trace.User{{PID: 9, Bytes: 30}}}
	}
	l := gaugeLog{list: []trace.Gauge{outside(1), outside(3), {Device: 1, Time: 4, Process: -1}, outside(5)}}
	all, err := l.merge([]trace.Gauge{inside(2, first), inside(4, second), {Device: -1, Time: 6, Process: 7}})
	must(t, err)
	cards := []*trace.Card{nil, first, first, second, nil, second, nil}
	processes := []int64{60, 60, 60, 60, -1, 60, 7}
	for i, g := range all {
		if g.Card != cards[i] || g.Process != processes[i] || g.Process == 60 && len(g.Users) != 1 {
			t.Errorf("reading %d of device %d: %+v", i, g.Device, g)
		}
	}
	if l.list[1].Card != nil {
		t.Error("a reading was changed for all")
	}
}
