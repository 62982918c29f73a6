package train

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/snapshots/trace"
)

// Action is what is done once, when a step has ended. It holds for no step, cannot be
// undone and changes no loss, so it is no part of [Settings]: neither saved with a run nor
// rehearsed.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	// EmptyCache gives back what the device's allocator has reserved for nothing:
	// segments without a live block.
	EmptyCache
	// AggressiveClear does so on the device and on its host, and has the process give
	// back its own garbage.
	AggressiveClear
	actionCount
)

// actionKey is what actions are called among the settings.
const actionKey = "action"

var actionNames = [actionCount]string{"none", "empty-cache", "aggressive-clear"}

// String returns "none", "empty-cache" or "aggressive-clear".
func (a Action) String() string {
	if a >= actionCount {
		return fmt.Sprintf("Action(%d)", uint8(a))
	}
	return actionNames[a]
}

// Actions returns every action.
func Actions() []Action { return []Action{EmptyCache, AggressiveClear} }

// ParseAction is the inverse of Action.String, of what can be done.
func ParseAction(name string) (Action, error) {
	return choice.Parse(actionKey, Actions(), name)
}

// actions are what was asked for, and what is known of what it would do.
type actions struct {
	asked atomic.Uint32 // an Action, for the end of the step
	left  atomic.Pointer[left]
}

// left is what a step has left that the next one, with the same settings, will
// leave again.
type left struct {
	settings *Settings // those of the next step, when it ended
	bytes    int64     // that can go back to the driver
}

// Do has an action done when the step under way, or else the next one, has ended. Of
// several it is the last. All processes of a group do it after the same step: the one
// after the step in which all have heard of it. Safe for concurrent use.
func (t *Trainer) Do(a Action) { t.actions.asked.Store(uint32(a)) }

// act does what was asked for, and returns what that was. The step has ended.
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

// noteLeft notes what could go back of what a step has left. That is known of the next
// one as well if it has the same settings, and of the first with other settings it is not:
// the second finds memory where the first has left it.
func (t *Trainer) noteLeft(used *Settings, e *Event) {
	now, old := &e.Memory.Now, t.actions.left.Load()
	switch {
	case t.fresh || e.Action != NoAction || now.PendingFree > 0 || t.config.Device.Memory().Expandable():
		t.actions.left.Store(nil)
	case old == nil || old.settings != used || old.bytes != now.Releasable:
		t.actions.left.Store(&left{used, now.Releasable})
	}
}

// givesBack says what an action would do: exactly, or nothing where that is not known.
func (t *Trainer) givesBack() *trace.Prediction {
	l := t.actions.left.Load()
	if l == nil || l.settings != t.settings.Load() {
		return nil
	}
	less := -l.bytes
	return &trace.Prediction{Reserved: &less}
}

// withoutAction returns changes of settings without that of the action, and whether there
// was one.
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
