//go:build linux

package sensor

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// A device with a block of 4 MiB, which went within the step, and one of 2 MiB, which
// came in its place.
const played = `{"segments":[{"device":0,"address":4096,"total_size":20971520,"stream":0,"segment_type":"large","blocks":[
	{"address":4096,"size":2097152,"requested_size":2097152,"state":"active_allocated"},
	{"address":2101248,"size":18874368,"requested_size":0,"state":"inactive"}]}],
	"device_traces":[[
	{"action":"free_requested","addr":4096,"size":4194304,"stream":0},
	{"action":"free_completed","addr":4096,"size":4194304,"stream":0},
	{"action":"alloc","addr":4096,"size":2097152,"stream":0}]],"allocator_settings":{}}`

func tuple(values ...string) string { return list32('(', len(values)) + strings.Join(values, "") }

// ended is the snapshot of a step that had so many requests.
func ended(t *testing.T, requests int64) string {
	t.Helper()
	contents, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(played), pytorch.Options{})
	fatal.If(t, err)
	var pickle strings.Builder
	fatal.If(t, pytorch.Write(&pickle, contents))
	return entry(snapshotKind, raw(pickle.String()), tuple(), tuple(tuple(number(0), number(requests), number(20<<20), tuple(number(4096), number(4<<20)))))
}

func TestThePeakOfAStepIsPlayedByTheHost(t *testing.T) {
	p := greeted(t, hosting(t), nil)
	measured := func(n string) string {
		return entry(stepKind, raw(`{"step":`+n+`,"time_us":`+n+`,"device":0,"categories":[{"name":"other","bytes":1}],"settings":[{"key":"zero","value":"2"}]}`))
	}
	p.send(ended(t, 2), measured("1"), measured("2"), ended(t, 4), measured("3"), step("4"), entry(forgetKind))
	c := p.follow()
	until(t, c, "four steps", func(now *trace.Trace) bool { return len(now.Steps) == 4 })
	steps := c.Trace().Steps
	if steps[0].PeakAllocated != 4<<20 || steps[0].PeakReserved != 20<<20 || len(steps[0].Settings) != 1 {
		t.Errorf("the first step has a peak of %d of %d bytes (%v), want 4 of 20 MiB", steps[0].PeakAllocated, steps[0].PeakReserved, steps[0].Settings)
	}
	for i, why := range map[int]string{1: "not known: what the device had", 2: "not known: the allocator's history does not reach back"} {
		if got := steps[i].Settings[0]; steps[i].PeakAllocated != 0 || got.Key != "peak" || !strings.HasPrefix(got.Value, why) {
			t.Errorf("step %d has a peak of %d bytes (%v), want %q", i+1, steps[i].PeakAllocated, steps[i].Settings, why)
		}
	}
	if got := steps[3].Settings; len(got) != 1 {
		t.Errorf("a step that was not measured says %v", got)
	}
}

func TestAHostPredictsFromASurveyedStep(t *testing.T) {
	p := greeted(t, hosting(t), nil)
	c := p.follow()
	p.send(described(`,"turn":1,"options":[{"key":"checkpoint","value":"off","choices":["off","all"]},{"key":"amp","value":"off"}]`))
	call, none := list32('[', 1)+number(1), tuple()
	p.send(entry(surveyKind, number(0),
		tuple(
			tuple(number(8192), number(700), number(1), "F", call, none),
			tuple(number(4096), number(100), number(0), "F", none, none)),
		tuple(
			tuple(number(0), number(1), text(""), text("activation")),
			tuple(number(-1), number(1), text(""), text("")),
			tuple(number(1), number(0), text(""), text("other")),
			tuple(number(1), number(0), text("other"), text("")),
			tuple(number(-2), number(1), text(""), text("")),
			tuple(number(0), number(0), text("activation"), text(""))),
		tuple(tuple(text("blocks.0"), call, "T", "F")),
		tuple(tuple(text("amp"), text("off")))), step("1"))
	until(t, c, "the step", func(now *trace.Trace) bool { return len(now.Steps) == 1 && len(now.Live.Options) == 2 })
	got, err := c.Predict(t.Context(), []trace.Value{{Key: "checkpoint", Value: "all"}})
	if err != nil || got == nil || got.PeakAllocated != -100 || got.Activation != 0 {
		t.Errorf("predicted %+v (%v), want 100 bytes less: the 700 come back alone", got, err)
	}
}

func TestASurveyOfAStorageThatItDoesNotHaveIsRefused(t *testing.T) {
	moment := tuple(number(0), number(0), text(""), text("other"))
	r := &reader{b: []byte(number(0) + tuple() + tuple(moment) + tuple() + tuple())}
	if readSurvey(r); r.err == nil {
		t.Error("it is taken")
	}
}
