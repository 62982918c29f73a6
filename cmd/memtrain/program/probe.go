package program

import (
	"context"
	"errors"
	"fmt"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/engine"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// probeSwitch reads --probe.
func (o *options) probeSwitch() (on bool, err error) {
	switch o.probe {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, usagef("--probe %q: want on or off", o.probe)
}

// blackBoxSize reads --black-box, as probe.Options have it.
func (o *options) blackBoxSize() (int, error) {
	switch o.blackBox {
	case "on":
		return 0, nil
	case "off":
		return -1, nil
	}
	size, err := quantity.ParseBytes(o.blackBox)
	if err != nil || size < probe.LeastBox || size > probe.MostBox {
		return 0, usagef("--black-box %q: want on, off or a size from %s to %s", o.blackBox, quantity.Bytes(probe.LeastBox), quantity.Bytes(probe.MostBox))
	}
	return int(size), nil
}

// openProbe lets viewers look at the run. If the probe cannot open, one line says
// so, and training goes on.
func (s *session) openProbe(ctx context.Context) {
	p, err := engine.Listen(context.WithoutCancel(ctx), probe.Options{Rank: s.place, Box: s.box}, s.trainer) // viewers see the last step too
	if err != nil {
		fmt.Fprintln(s.stderr, "memtrain: "+command.Line(err.Error(), "training without it, as with --probe off"))
		return
	}
	s.listening = p
	s.onClose(func() { _ = p.Close() }) // the program ends anyway
	s.watchBox()
}

// watchBox says once when the run has no black box, or has lost it.
func (s *session) watchBox() {
	if s.boxless {
		return
	}
	if _, err := s.listening.BlackBox(); err != nil {
		s.boxless = true
		fmt.Fprintln(s.stderr, "memtrain: "+command.Line("no black box: "+err.Error(), "training without it, as with --black-box off"))
	}
}

// takeBack goes back to the settings of the last step if a change from a viewer
// needs more memory than there is, or than the budget allows. A viewer should not
// be able to end a run with one key. takeBack prints a line, and reports whether
// there are settings to go back to. Several processes cannot go back, because the
// others are in the middle of the step; so each of them rehearses a change before
// all use it.
func (s *session) takeBack(failed error, settled *train.Settings) bool {
	what := "out of memory"
	if small := new(train.TooSmallError); errors.As(failed, &small) {
		what = "more than the memory budget"
	} else if oom := new(train.OutOfMemoryError); !errors.As(failed, &oom) {
		return false
	}
	if s.listening == nil || settled == nil || s.group != nil {
		return false
	}
	now, before := s.trainer.Settings().Values(), settled.Values()
	var list []trace.Value
	for _, key := range train.Keys() {
		if now[key] != before[key] {
			list = append(list, trace.Value{Key: key, Value: now[key]})
		}
	}
	if len(list) == 0 || s.trainer.Set(*settled) != nil {
		return false
	}
	reason := what + " with " + pairs(list)
	s.goOn(reason, list, reason)
	return true
}

// refused handles changes that some process of the run cannot use.
func (s *session) refused(list []trace.Value, reason string) {
	s.goOn(pairs(list)+" is not for all: "+reason, list, reason)
}

// goOn prints that changes from a viewer are not used, and tells viewers why.
func (s *session) goOn(line string, list []trace.Value, reason string) {
	var keys []string
	for _, c := range list {
		keys = append(keys, c.Key)
	}
	if s.listening != nil {
		s.listening.Refuse(reason, keys...)
	}
	fmt.Fprintln(s.stderr, "memtrain: "+command.Line(fmt.Sprintf("step %d: %s", s.trainer.Steps()+1, line), "going on as before"))
}
