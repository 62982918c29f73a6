package analysis

import (
	"testing"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestWhatGrowsWhileNobodyLooksIsALeak has a viewer miss some steps, over and over,
// and find more than it left each time. What was alive on both sides of each gap is
// known, so the rate is that of all steps.
func TestWhatGrowsWhileNobodyLooksIsALeak(t *testing.T) {
	for name, told := range map[string]bool{"with the gaps told of": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			tag := m.tag("activation", "metrics", "window")
			m.run(func() { m.get(tag, 0, 4096) })
			for range 20 {
				from := m.log.Len()
				m.get(tag, 0, 4096) // made up: it leads to the state that was found
				if told {
					m.told.Gaps = append(m.told.Gaps, trace.Gap{From: from, To: m.log.Len(), Missed: 100})
				}
				m.step += 3
				m.run(func() { m.drop(m.get(tag, 0, 512)) })
			}
			tr := m.trace()
			x := NewIndex(tr, &tr.Devices[0])
			sites := x.Sites(x.End())
			if len(sites) != 1 || sites[0].Trend != leak.Suspected || sites[0].GrowthPerStep != 21*4096/81 {
				t.Errorf("got %s, +%d a step, want a suspected leak, +1061: %s", sites[0].Trend, sites[0].GrowthPerStep, sites[0].Reason)
			}
		})
	}
}

func TestAgesCountStepsThatWereNotLookedAt(t *testing.T) {
	m := newMaker()
	tag := m.tag("other", "", "kept by history[…], train.py:9")
	m.run(func() {}) // step 1
	m.get(tag, 0, 1<<10)
	m.step = 6
	m.run(func() { m.get(tag, 0, 2<<10) }) // step 7
	m.run(func() {})
	tr := m.trace()
	x := NewIndex(tr, &tr.Devices[0])
	for _, tensor := range x.Tensors(x.End()) {
		if want := tensor.Size == 1<<10; tensor.Age != 1 || tensor.AtLeast != want {
			t.Errorf("the tensor of %d bytes: got %d steps, at least %v; want 1, %v", tensor.Size, tensor.Age, tensor.AtLeast, want)
		}
	}
}

func TestAgesCountStepsThatNobodySaw(t *testing.T) {
	m := newMaker()
	tag := m.tag("activation", "a", "b")
	m.step = 9
	m.get(tag, 0, 1<<10) // before step 10: held, or made in a step nobody saw begin
	m.run(func() { m.get(tag, 0, 2<<10) })
	from := m.log.Len()
	m.get(tag, 0, 3<<10)
	m.told.Gaps = []trace.Gap{{From: from, To: m.log.Len(), Missed: -1}}
	m.get(tag, 0, 5<<10)
	m.step = 29
	m.run(func() { m.get(tag, 0, 4<<10) })
	m.run(func() {})
	tr := m.trace()
	x := NewIndex(tr, &tr.Devices[0])
	type age struct {
		steps   int64
		atLeast bool
	}
	got := make(map[int64]age)
	for _, tensor := range x.Tensors(x.End()) {
		got[tensor.Size>>10] = age{tensor.Age, tensor.AtLeast}
	}
	for size, want := range map[int64]age{
		1: {22, true},  // made before step 10, and it is step 31
		2: {21, false}, // in step 10
		3: {2, true},   // in the gap, so not after step 29
		5: {2, true},   // after the gap, in a step that began at a moment nobody saw
		4: {1, false},  // in step 30
	} {
		if got[size] != want {
			t.Errorf("the tensor of %d KiB: got %+v, want %+v", size, got[size], want)
		}
	}
	if got := x.StepAt(x.End()); got != 31 {
		t.Errorf("the step at the end: got %d, want 31", got)
	}
}

// TestTheLastStepIsOneThatWasSeenWhole has a program that measures every second of
// its steps, and a gap in the last one that it measured.
func TestTheLastStepIsOneThatWasSeenWhole(t *testing.T) {
	m := newMaker()
	tag := m.tag("activation", "a", "b")
	kept := m.get(tag, 0, 1<<10)
	for number := int64(1); number <= 5; number++ {
		from := 0
		m.run(func() {
			from = m.log.Len()
			m.drop(m.get(tag, 0, number<<20))
		})
		if number%2 == 0 {
			m.steps[number-1].PeakAllocated = number << 20
		}
		switch number {
		case 2:
			m.told.Gaps = append(m.told.Gaps, trace.Gap{From: m.log.Len() - 1, To: m.log.Len() - 1}) // right before its mark
		case 4:
			m.told.Gaps = append(m.told.Gaps, trace.Gap{From: from, To: from + 1})
		}
	}
	tr := m.trace()
	x := NewIndex(tr, &tr.Devices[0])
	if s := LastStepOf(x); s == nil || s.Number != 2 {
		t.Fatalf("got %+v, want step 2", s)
	}
	if s := LastStepOf(x); x.RequestedAt(s.Peak) != 2<<20+1<<10 {
		t.Errorf("its peak is %d", x.RequestedAt(s.Peak))
	}
	for i := range tr.Steps {
		tr.Steps[i].PeakAllocated = 0
	}
	if s := LastStepOf(NewIndex(tr, &tr.Devices[0])); s == nil || s.Number != 5 {
		t.Errorf("where none is measured: got %+v, want step 5", s)
	}
	_ = kept
}

func TestBeforeAFirstLookOnlyTroubleIsFound(t *testing.T) {
	m := newMaker()
	stack := m.stack(1)
	for range 20 {
		m.run(func() { m.get(0, stack, 1<<20) })
	}
	tr := m.trace()
	if found := NewIndex(tr, &tr.Devices[0]).Findings(); len(found) == 0 {
		t.Fatal("nothing is found where it has looked")
	}
	tr.Live.Looking = true
	if found := NewIndex(tr, &tr.Devices[0]).Findings(); len(found) > 0 {
		t.Errorf("it finds %q", found[0].Text())
	}
}

// TestWhatOneKeeperKeepsIsOneSite has a list from before the recording, of which the
// program tells late, and tensors of the list that it has not told of yet.
func TestWhatOneKeeperKeepsIsOneSite(t *testing.T) {
	m := newMaker()
	kept, argument := m.tag("other", "", "kept by history[…], train.py:9"), m.tag("input", "", "argument")
	told := func(addr uint64) {
		b := m.live[addr]
		m.add(trace.Event{Kind: trace.Retag, Addr: addr, Size: b.Requested, Stack: b.Stack, Note: kept})
	}
	var before []uint64
	for range 10 {
		before = append(before, m.get(0, 0, 1024))
	}
	m.attach()
	line := m.stack(9)
	m.get(argument, line, 2048) // of the same line, and the program has a name for it
	for range 20 {
		m.run(func() {
			addr := m.get(0, line, 1024)
			if m.step == 6 {
				for _, old := range before {
					told(old)
				}
				told(addr)
			}
		})
	}
	tr := m.trace()
	x := NewIndex(tr, &tr.Devices[0])
	found := make(map[string]leak.Site)
	for _, s := range x.Sites(x.End()) {
		found[s.Name] = s
	}
	list := found["history[…], train.py:9"]
	if list.Count != 30 || list.Bytes != 30<<10 || list.GrowthPerStep != 1024 || list.Trend != leak.Suspected {
		t.Errorf("got %d tensors, %d bytes, +%d a step, %s; want 30, 30720, +1024, a suspected leak: %s",
			list.Count, list.Bytes, list.GrowthPerStep, list.Trend, list.Reason)
	}
	for name, s := range found {
		if name != list.Name && s.Trend.Alarming() {
			t.Errorf("%s, of the same line: got %s, want steady: %s", name, s.Trend, s.Reason)
		}
	}
}
