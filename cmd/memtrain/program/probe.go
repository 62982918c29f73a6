package program

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"memtop/cmd/command"
	"memtop/engine/train"
	"memtop/probe"
	"memtop/probe/engine"
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

// openProbe lets viewers look at the run. A run without a probe is
// still a run: one line says so, and training goes on.
func (s *session) openProbe(ctx context.Context) {
	p, err := engine.Listen(context.WithoutCancel(ctx), probe.Options{}, s.trainer) // viewers see the last step too
	if err != nil {
		fmt.Fprintln(s.stderr, "memtrain: "+command.Line(err.Error(), "training without it, as with --probe off"))
		return
	}
	s.listening = p
	s.onClose(func() { _ = p.Close() }) // the program ends anyway
}

// takeBack goes back to the settings of the last step when a change that came
// from outside leaves too little memory, or none for the budget: whoever looks at a run should not be
// able to end it with one key. It says so, and reports whether there is
// something to go back to.
func (s *session) takeBack(failed error, settled *train.Settings) bool {
	what := "out of memory"
	if small := new(train.TooSmallError); errors.As(failed, &small) {
		what = "more than the memory budget"
	} else if oom := new(train.OutOfMemoryError); !errors.As(failed, &oom) {
		return false
	}
	if s.listening == nil || settled == nil {
		return false
	}
	now, before := s.trainer.Settings().Values(), settled.Values()
	var keys, changes []string
	for _, key := range train.Keys() {
		if now[key] != before[key] {
			keys, changes = append(keys, key), append(changes, key+"="+now[key])
		}
	}
	if len(keys) == 0 || s.trainer.Set(*settled) != nil {
		return false
	}
	reason := what + " with " + strings.Join(changes, " ")
	s.listening.Refuse(reason, keys...)
	fmt.Fprintln(s.stderr, "memtrain: "+command.Line(fmt.Sprintf("step %d: %s", s.trainer.Steps()+1, reason), "going on as before"))
	return true
}
