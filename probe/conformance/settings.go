package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// examineSettings asks for the settings, and sets one to its current value.
func (e *examination) examineSettings(ctx context.Context) {
	if !e.can(protocol.CapabilityControl) {
		return
	}
	said := e.settings(ctx, get("/v1/settings"))
	if said == nil || e.info.ReadOnly {
		return
	}
	i := slices.IndexFunc(said.Options, func(o trace.Option) bool { return slices.Contains(o.Choices, o.Value) })
	if i < 0 {
		e.noSettings("the program has no setting with choices")
		return
	}
	o := &said.Options[i]
	e.predict(ctx, o)
	e.setAt(ctx, o)
	e.set(ctx, o)
}

// otherThan returns another value of a setting, or the one it has.
func otherThan(o *trace.Option) string {
	for _, c := range o.Choices {
		if c != o.Value {
			return c
		}
	}
	return o.Value
}

func (e *examination) noSettings(why string) {
	for _, rule := range []string{"settings.set", "settings.at", "settings.holder", "settings.released", "prediction.answer"} {
		e.unseen(rule, why)
	}
}

// settings asks for the settings, and returns nil if the answer is invalid.
func (e *examination) settings(ctx context.Context, r request) *protocol.Settings {
	const want = "status 200 and {options, changes}, as " + contentJSON
	a, err := e.viewer.ask(ctx, r)
	if err != nil {
		e.broken("settings.answer", want, "%v", err)
		return nil
	}
	if a.status == http.StatusConflict {
		e.noSettings("another viewer is changing settings")
		return nil
	}
	var said protocol.Settings
	o, err := a.object()
	if err == nil {
		err = json.Unmarshal(a.body, &said)
	}
	ok := err == nil && a.status == http.StatusOK && contentType(a.header) == contentJSON
	if !e.check("settings.answer", ok, want, "%v: status %d, Content-Type: %s: %v %.100s", r, a.status, a.header.Get("Content-Type"), errorOr(err, ""), a.body) {
		return nil
	}
	for _, name := range []string{"options", "changes"} {
		e.check("settings.answer", list.is(o[name]) || string(o[name]) == "null", name+" is "+string(list), "%s", orMissing(o[name]))
	}
	return &said
}

// set sets a setting to its current value, and tries to set it as another viewer too.
func (e *examination) set(ctx context.Context, o *trace.Option) {
	body, err := json.Marshal(map[string]any{"set": map[string]string{o.Key: o.Value}})
	if err != nil {
		return
	}
	r := post(string(body))
	said := e.settings(ctx, r)
	if said == nil {
		return
	}
	ok := len(said.Changes) == 1 && said.Changes[0].Key == o.Key
	if !e.check("settings.set", ok, "the change that was asked for, and no other", "%d changes: %+v", len(said.Changes), said.Changes) {
		return
	}
	e.check("settings.holder", said.Holder == e.viewer.name, fmt.Sprintf("holder %q after its change", e.viewer.name), "holder %q", said.Holder)
	e.heldBy(ctx, r)
}

// setAt asks for a setting's current value from a step on that began long ago.
func (e *examination) setAt(ctx context.Context, o *trace.Option) {
	now, err := e.askInfo(ctx) // it may have made its first steps since the last answer
	if err != nil || now.Step < 2 {
		e.unseen("settings.at", "the program has made no steps")
		return
	}
	body, err := json.Marshal(map[string]any{"set": map[string]string{o.Key: o.Value}, "at": 1})
	if err != nil {
		return
	}
	a, err := e.viewer.ask(ctx, post(string(body)))
	if err != nil {
		e.broken("settings.at", "an answer", "%v", err)
		return
	}
	if !e.can(protocol.CapabilityAt) {
		e.check("settings.at", a.status == http.StatusBadRequest || a.status == http.StatusConflict, "status 400, without the capability at", "status %d: %.100s", a.status, a.body)
		return
	}
	var said protocol.Settings
	_ = json.Unmarshal(a.body, &said) // an empty answer has no refused change
	ok := a.status == http.StatusConflict || len(said.Changes) == 1 && said.Changes[0].State == trace.Refused
	e.check("settings.at", ok, "a change that is refused, of step 1", "status %d: %.100s", a.status, a.body)
}

// heldBy tries to change a setting as another viewer.
func (e *examination) heldBy(ctx context.Context, r request) {
	r.viewer = "another-" + e.viewer.name
	want := fmt.Sprintf("status 409 and holder %q", e.viewer.name)
	a, err := e.viewer.ask(ctx, r)
	if err != nil {
		e.broken("settings.holder", want, "%v", err)
		return
	}
	var said struct{ Holder string }
	_ = json.Unmarshal(a.body, &said) // an unreadable holder counts as none
	if e.check("settings.holder", a.status == http.StatusConflict && said.Holder == e.viewer.name, want, "another viewer: status %d: %.100s", a.status, a.body) {
		e.errorOf(a)
	}
}

// predict asks what another value of a setting would change: alone, and as one of
// several, which a program need not support.
func (e *examination) predict(ctx context.Context, o *trace.Option) {
	const want = `status 200 and {"predicted": …}`
	alone := url.Values{"key": {o.Key}, "value": {otherThan(o)}}
	several := url.Values{"set": {o.Key + "=" + otherThan(o), o.Key + "=" + o.Value}}
	e.predicted(ctx, alone, want, http.StatusOK)
	e.predicted(ctx, several, want+", or status 400", http.StatusOK, http.StatusBadRequest)
}

// predicted asks for a prediction. The status must be one of the given ones.
func (e *examination) predicted(ctx context.Context, query url.Values, want string, states ...int) {
	a, err := e.viewer.ask(ctx, get("/v1/prediction?"+query.Encode()))
	if err != nil {
		e.broken("prediction.answer", want, "%v", err)
		return
	}
	said, err := a.object()
	_, there := said["predicted"]
	var p protocol.Prediction
	ok := slices.Contains(states, a.status) && err == nil
	if a.status == http.StatusOK {
		ok = ok && there && json.Unmarshal(a.body, &p) == nil
	}
	e.check("prediction.answer", ok, want, "%v: status %d: %.100s", query, a.status, a.body)
}

// examineEnd checks that the right to change settings ends with the holder's last
// stream, or ten seconds after its change.
func (e *examination) examineEnd(ctx context.Context) {
	changing := ""
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(e.within(leaseEnds)); time.Now().Before(end); <-poll.C {
		info, err := e.askInfo(ctx)
		if err != nil {
			return
		}
		if changing = info.Changing; changing != e.viewer.name {
			break
		}
	}
	e.check("settings.released", changing != e.viewer.name, "no holder after its last stream has ended", "changing is still %q", changing)
}

// The time limits of the page.
const (
	leaseEnds      = 15 * time.Second
	snapshotWithin = time.Minute
)
