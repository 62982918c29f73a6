package tui

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

// wantsAsked fails the test unless the program was asked for exactly these
// changes.
func wantsAsked(t *testing.T, p *tuitest.Process, want ...string) {
	t.Helper()
	equal.Values(t, "the program was asked for other changes", want, p.Asked())
}

func TestAQuestionSaysWhenNothingIsForeseen(t *testing.T) {
	d, p := startLive(t, 80, 24, 9)
	d.shows("O", "optimizer adamw → lion | the program cannot predict the effect")
	d.press("n")
	d.hold = true
	d.shows("C", "checkpoint none → block | asking the program for the effect …")
	wantsAsked(t, p)
}

func TestOnesOwnProcessIsChangedWithoutAsking(t *testing.T) {
	p := tuitest.NewProcess(9)
	d := start(t, 80, 24, Options{Color: "never", Device: -1, Own: true}, processFile(p))
	d.shows("C", "!changes the running job")
	wantsAsked(t, p, "checkpoint=block")
}

func TestAQuestionThatCannotBeReadIsNotAnswered(t *testing.T) {
	d, p := startLive(t, 120, 40, 9)
	d.send(tea.WindowSizeMsg{Width: 50, Height: 12})
	d.press("C", "y")
	wantsAsked(t, p)
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.wants("C changes the running job")
	d.press("y")
	wantsAsked(t, p, "checkpoint=block")
}

func TestAChangeIsToldOfOnEveryPage(t *testing.T) {
	for _, number := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "0"} {
		t.Run("page "+number, func(t *testing.T) {
			d, p := startLive(t, 120, 40, 9)
			d.press(number, "C", "y")
			d.news()
			d.wants("checkpoint none → block · pending · predicted peak -5.7 MiB")
			d.train(p, 3)
			d.wants("checkpoint none → block · applied at step 10 · measuring 1/8 steps")
			d.train(p, 8)
			d.wants("checkpoint none → block · at step 10 · peak -", "· step +")
		})
	}
}

func TestAChangeThatCouldNotBeAskedForSaysWhy(t *testing.T) {
	d, p := startLive(t, 80, 24, 9)
	p.Fail(errors.New("pid 12 is changing settings"))
	d.shows("C y", "checkpoint none → block · not changed: pid 12 is changing settings")
	p.Fail(errors.New("another viewer, of pid 12, is changing settings: close it"))
	d.shows("C", " not changed: another viewer, of pid 12, is changing settings: close it ")
	p.Fail(nil)
	d.press("C")
	d.news()
	d.wants("checkpoint none → block · pending")
}

func TestReadOnlyChangesNothing(t *testing.T) {
	p := tuitest.NewProcess(9)
	d := start(t, 120, 40, Options{Color: "never", Device: -1, ReadOnly: true}, processFile(p))
	for _, key := range []string{"C", "A", "O", "S", "U"} {
		d.press(key)
		d.wants(key + " changes nothing: memtop was started with --read-only")
	}
	d.shows("8 enter", "nothing can be changed: memtop was started with --read-only | !changes the running job")
	d.shows("down enter", "!changes the running job")
	wantsAsked(t, p)
	d.shows("esc 1 ?", "!checkpointing | !undo the last change")
}

// deaf is a process that takes no settings.
type deaf struct{ trace.Growing }

func TestKeysThatCannotChangeAnythingSayWhy(t *testing.T) {
	lost := tuitest.NewProcess(5)
	lost.Lose("the process has exited")
	few := *tuitest.Live(5)
	live := *few.Live
	live.Options = live.Options[1:]
	few.Live = &live
	tests := map[string]struct {
		file File
		want string
	}{
		"a snapshot":           {fileOf("run.pickle", tuitest.Small()), "C changes a running program; this is a file"},
		"a recording":          {fileOf("run.mtr", tuitest.Recording()), "C changes a running program; this is a recording of one"},
		"a lost connection":    {processFile(lost), "C changes nothing: the process has exited"},
		"a deaf program":       {sourceFile(deaf{tuitest.NewProcess(5)}), "C changes nothing: the program takes no settings"},
		"an option it has not": {sourceFile(obeying{given{&few}}), "the program offers no choice of checkpoint"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := start(t, 80, 24, Options{Color: "never", Device: -1}, test.file)
			d.press("C")
			d.wants(test.want)
		})
	}
}

// obeying is a source that takes any setting.
type obeying struct{ given }

func (obeying) Set(context.Context, string, string) (trace.Change, error) { return trace.Change{}, nil }

func sourceFile(s trace.Source) File {
	return File{Name: "4711", Live: true, Load: func(context.Context, trace.Progress) (trace.Source, error) { return s, nil }}
}

func TestChangesAreSentInTheOrderOfTheKeys(t *testing.T) {
	d, p := startLive(t, 80, 24, 9)
	d.press("O", "y")
	wantsAsked(t, p, "optimizer=lion")
	d.hold = true
	d.press("C", "A", "C", "A", "C") // C leaves at once; the others wait for it
	d.hold = false
	waiting := d.waiting
	d.waiting = nil
	for _, cmd := range waiting {
		d.run(cmd)
	}
	wantsAsked(t, p, "optimizer=lion", "checkpoint=block", "amp=fp16", "checkpoint=none")
}

// following is a source of which changes are asked.
type following struct {
	given
	asked *[]string
}

func (f following) Set(_ context.Context, key, value string) (trace.Change, error) {
	*f.asked = append(*f.asked, key+"="+value)
	return trace.Change{}, nil
}

// refusing is a source that refuses changes and has not reported them yet.
type refusing struct{ following }

func (r refusing) Set(ctx context.Context, key, value string) (trace.Change, error) {
	_, err := r.following.Set(ctx, key, value)
	return trace.Change{ID: 100, Key: key, To: value, State: trace.Refused, Reason: "no"}, err
}

func TestTheNextChoiceIsNotTheOneAfterARefusedOne(t *testing.T) {
	var asked []string
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, sourceFile(refusing{following{given{tuitest.Live(5)}, &asked}}))
	d.press("C", "y", "C")
	if want := []string{"checkpoint=block", "checkpoint=block"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// acting starts the screen of a program that does something once, and was asked for
// these changes.
func acting(t *testing.T, asked *[]string, changes ...trace.Change) *driver {
	t.Helper()
	now := *tuitest.Live(5)
	live := *now.Live
	live.Options = []trace.Option{
		{Key: "action", Value: "none", Choices: []string{"collect-garbage", "empty-cache"}},
		{Key: "amp", Value: "bf16", Choices: []string{"off", "bf16"}},
	}
	live.Changes, now.Live = changes, &live
	return start(t, 80, 24, Options{Color: "never", Device: -1}, sourceFile(following{given{&now}, asked}))
}

func TestWhatIsDoneOnceIsNotUndone(t *testing.T) {
	amp := trace.Change{ID: 1, Key: "amp", From: "off", To: "bf16", State: trace.Applied, Step: 3}
	collect := trace.Change{ID: 2, Key: "action", From: "none", To: "collect-garbage", State: trace.Applied, Step: 4}
	empty := trace.Change{ID: 3, Key: "action", From: "none", To: "empty-cache", State: trace.Applied, Step: 5}
	waits := trace.Change{ID: 4, Key: "action", From: "none", To: "empty-cache", State: trace.Pending}
	tests := map[string]struct {
		changes []trace.Change
		want    []string
	}{
		"but what holds":                {[]trace.Change{amp, collect}, []string{"amp=off"}},
		"nor one for another":           {[]trace.Change{amp, collect, empty}, []string{"amp=off"}},
		"nor while it waits for a step": {[]trace.Change{amp, waits}, []string{"amp=off"}},
		"and where that is all":         {[]trace.Change{collect, empty}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var asked []string
			d := acting(t, &asked, test.changes...)
			d.press("U")
			if test.want == nil {
				d.wants("empty-cache is done once, and cannot be undone")
			}
			if d.press("y"); !slices.Equal(asked, test.want) {
				t.Errorf("asked for %q, want %q", asked, test.want)
			}
		})
	}
}

func TestAKeyEmptiesTheCache(t *testing.T) {
	var asked []string
	d := acting(t, &asked)
	d.shows("F", "F is done once, when the next step has ended: | action empty-cache")
	if d.press("y"); !slices.Equal(asked, []string{"action=empty-cache"}) {
		t.Errorf("asked for %q", asked)
	}
}

func TestUndoGoesBackToWhatHeld(t *testing.T) {
	change := func(key, from, to string, state trace.ChangeState) trace.Change {
		return trace.Change{Key: key, From: from, To: to, State: state}
	}
	tests := map[string]struct {
		changes []trace.Change
		want    string // key=value that undo asks for, "" for nothing
	}{
		"the last one":         {[]trace.Change{change("a", "1", "2", trace.Applied), change("b", "x", "y", trace.Applied)}, "b=x"},
		"not a refused one":    {[]trace.Change{change("a", "1", "2", trace.Applied), change("b", "x", "y", trace.Refused)}, "a=1"},
		"what was undone":      {[]trace.Change{change("a", "1", "2", trace.Applied), change("a", "2", "1", trace.Applied)}, ""},
		"over one passed over": {[]trace.Change{change("a", "1", "2", trace.Refused), change("a", "2", "3", trace.Applied)}, "a=1"},
		"a way back by others": {
			[]trace.Change{change("a", "1", "2", trace.Refused), change("a", "2", "1", trace.Applied)}, "",
		},
		"one that waits": {[]trace.Change{change("a", "1", "2", trace.Applied), change("a", "2", "3", trace.Pending)}, "a=2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, list := "", standing(test.changes)
			if len(list) > 0 {
				got = list[len(list)-1].Key + "=" + list[len(list)-1].From
			}
			if got != test.want {
				t.Errorf("undo asks for %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheLineOfAChangeGoesWhenItWasRead(t *testing.T) {
	d, p := startLive(t, 80, 24, 9)
	now := time.Unix(1_752_000_000, 0)
	d.m.now = func() time.Time { return now }
	d.press("1", "C", "y")
	d.train(p, 1)
	d.shows("down", "applied at step 10")
	now = now.Add(readingTime)
	d.train(p, 1)
	d.shows("down", "!applied at step 10")
	d.train(p, 9)
	d.wants("at step 10 · peak")
	d.shows("j", "at step 10 · peak")
	now = now.Add(readingTime)
	d.shows("j", "!at step 10 · peak")
}

func TestAChangeIsToldOfWhileTheScreenIsFrozen(t *testing.T) {
	d, p := startLive(t, 120, 40, 9)
	d.shows("space C y", "pending")
	p.Train(11)
	d.send(lookMsg{})
	d.wants("at step 10 · peak")
}

func TestAProgramThatGoesAwayIsNotMeasured(t *testing.T) {
	d, p := startLive(t, 80, 24, 9)
	d.press("C", "y")
	d.train(p, 1)
	p.Lose("the process has exited")
	d.news()
	d.news()
	d.wants("checkpoint none → block · never measured: the program is gone")
}
