package train

import (
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/snapshots/trace"
)

// Action is something that the trainer does once, when a step has ended. It holds
// for no step, cannot be undone and changes no loss. So it is not part of
// [Settings], and is neither saved with a run nor rehearsed.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	// EmptyCache gives back segments that the device's allocator has reserved and
	// that have no live block.
	EmptyCache
	// AggressiveClear does the same on the device and on its host, and makes the
	// process give back its own garbage.
	AggressiveClear
)

// actionKey is the key of actions among the settings.
const actionKey = "action"

// String returns "none", "empty-cache" or "aggressive-clear".
func (a Action) String() string { return [...]string{"none", "empty-cache", "aggressive-clear"}[a] }

// Actions returns every action.
func Actions() []Action { return []Action{EmptyCache, AggressiveClear} }

// ParseAction is the inverse of Action.String for real actions; it refuses
// "none".
func ParseAction(name string) (Action, error) {
	return choice.Parse(actionKey, Actions(), name)
}

// actions holds the requested action, and the known effect of one.
type actions struct {
	asked atomic.Uint32 // an Action, for the end of the step
	left  atomic.Pointer[left]
}

// left describes memory that a step left unused and that the next step, with the
// same settings, will leave unused again.
type left struct {
	settings *Settings // those of the next step, when it ended
	bytes    int64     // that can go back to the driver
}

// Do requests an action for the end of the current step, or else of the next one.
// If there are several requests, the last one holds. All processes of a group act
// after the same step: the step after the one in which all have heard of the
// request. Safe for concurrent use.
func (t *Trainer) Do(a Action) { t.actions.asked.Store(uint32(a)) }

// act does the requested action and returns it. The step has ended.
func (t *Trainer) act() Action {
	var a Action
	if p := t.parallel; p != nil {
		a = p.action
	} else {
		a = Action(t.actions.asked.Swap(uint32(NoAction)))
	}
	if a == NoAction {
		return a
	}
	d := t.config.Device
	d.Memory().Mark(trace.SettingChanged, t.step, actionKey+"="+a.String())
	d.Memory().EmptyCache()
	if a == AggressiveClear {
		if h := d.HostMemory(); h != nil {
			h.EmptyCache()
		}
		debug.FreeOSMemory()
	}
	return a
}

// noteLeft notes how much of the memory that a step left could go back to the
// driver. The next step leaves as much if it has the same settings. After a
// change of settings the amount is known only from the second step on, which
// finds memory as the first left it.
func (t *Trainer) noteLeft(used *Settings, e *Event) {
	now, old := &e.Memory.Now, t.actions.left.Load()
	switch {
	case t.fresh || e.Action != NoAction || now.PendingFree > 0 || t.config.Device.Memory().Expandable():
		t.actions.left.Store(nil)
	case old == nil || old.settings != used || old.bytes != now.Releasable:
		t.actions.left.Store(&left{used, now.Releasable})
	}
}

// givesBack predicts exactly what an action would do, or returns nil if that is
// not known.
func (t *Trainer) givesBack() *trace.Prediction {
	l := t.actions.left.Load()
	if l == nil || l.settings != t.settings.Load() {
		return nil
	}
	less := -l.bytes
	return &trace.Prediction{Reserved: &less}
}

// withoutAction returns the changes without the action, and whether there was an
// action.
func withoutAction(changes []trace.Value) (rest []trace.Value, acts bool, err error) {
	for _, c := range changes {
		if c.Key == actionKey {
			if _, err := ParseAction(c.Value); err != nil {
				return nil, true, err
			}
		}
	}
	rest = slices.DeleteFunc(slices.Clone(changes), func(c trace.Value) bool { return c.Key == actionKey })
	return rest, len(rest) < len(changes), nil
}

// actionOption is the action as it is offered.
func actionOption() trace.Option {
	return trace.Option{
		Key: actionKey, Value: NoAction.String(), About: "do something once, when the step has ended; it cannot be undone",
		Choices: choice.Names(Actions()),
	}
}
