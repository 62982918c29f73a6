package probe

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

func (p *service) settings() protocol.Settings {
	changes, _ := p.changes.view()
	return protocol.Settings{
		ReadOnly: !p.changes.allowed(), Holder: p.changes.lease.held(),
		Options: p.changes.options(), Changes: slices.Clone(changes),
	}
}

func (p *service) serveSettings(w http.ResponseWriter, _ *http.Request) error {
	return p.reply(w, http.StatusOK, p.settings())
}

// servePrediction says what changes would do, without making them. It costs the
// program as much as a change, so only viewers that may change settings can ask.
func (p *service) servePrediction(w http.ResponseWriter, r *http.Request) error {
	if !p.changes.allowed() {
		return statusf(http.StatusForbidden, "this program's settings cannot be changed from outside: its probe is read-only")
	}
	q, err := readQuestion(r.URL.Query())
	if err != nil {
		return err
	}
	for _, v := range q.changes {
		if _, reason := p.changes.find(v.Key, v.Value); reason != "" {
			return statusf(http.StatusBadRequest, "%s", reason)
		}
	}
	answer, err := p.changes.foresee(r.Context(), q)
	if err != nil {
		return err
	}
	return p.reply(w, http.StatusOK, answer)
}

// question is a viewer's question about changes that are not made.
type question struct {
	changes  []trace.Value
	room     bool  // how many samples fit
	capacity int64 // in bytes; 0 for the whole device
}

// readQuestion reads key=…&value=… of one change, or set=key=value of each of
// several; with a capacity there may be none.
func readQuestion(query url.Values) (q question, err error) {
	if q.room = query.Has("capacity"); q.room {
		q.capacity, err = strconv.ParseInt(query.Get("capacity"), 10, 64)
		if err != nil || q.capacity < 0 {
			return q, statusf(http.StatusBadRequest, "capacity %q: want a number of bytes", query.Get("capacity"))
		}
	}
	given := query["set"]
	if len(given) == 0 && !q.room {
		given = []string{query.Get("key") + "=" + query.Get("value")}
	}
	if len(given) > maxSettings {
		return q, statusf(http.StatusBadRequest, "a request may change %d settings", maxSettings)
	}
	for _, text := range given {
		key, value, _ := strings.Cut(text, "=")
		q.changes = append(q.changes, trace.Value{Key: key, Value: value})
	}
	return q, nil
}

// maxWait bounds how long a POST may wait for steps to show its changes.
const maxWait = time.Minute

// serveSet makes changes, in the order of their keys.
func (p *service) serveSet(w http.ResponseWriter, r *http.Request) error {
	if !p.changes.allowed() {
		return statusf(http.StatusForbidden, "this program's settings cannot be changed from outside: its probe is read-only")
	}
	viewer, err := viewerName(r)
	if err != nil {
		return err
	}
	wait, err := duration(r, "wait", 0, 0, maxWait)
	if err != nil {
		return err
	}
	wanted, at, err := p.readSet(w, r)
	if err != nil {
		return err
	}
	if err := p.changes.lease.take(viewer); err != nil {
		return err
	}
	made, err := p.set(r.Context(), viewer, wanted, at)
	if err != nil {
		return err
	}
	p.changes.wait(r.Context(), made, wait)
	answer := p.settings()
	answer.Changes = slices.DeleteFunc(answer.Changes, func(c trace.Change) bool { return !slices.Contains(made, c.ID) })
	return p.reply(w, http.StatusOK, answer)
}

// set makes the changes one after the other and returns their numbers.
func (p *service) set(ctx context.Context, viewer string, wanted []trace.Value, at int64) (made []int64, err error) {
	for _, v := range wanted {
		c, err := p.changes.set(ctx, v.Key, v.Value, at)
		if err != nil {
			return nil, err
		}
		p.o.Log.Info("setting", "viewer", viewer, "key", c.Key, "to", c.To, "state", c.State.String(), "reason", c.Reason)
		made = append(made, c.ID)
	}
	return made, nil
}

// readSet reads {"set": {"key": "value", …}}.
func (p *service) readSet(w http.ResponseWriter, r *http.Request) ([]trace.Value, int64, error) {
	body, err := p.readBody(w, r)
	if err != nil {
		return nil, 0, err
	}
	var request struct {
		Set map[string]string `json:"set"`
		At  int64             `json:"at"`
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Set) == 0 || request.At < 0 {
		return nil, 0, statusf(http.StatusBadRequest, `the body must be {"set": {"key": "value"}}, and "at" a step`)
	}
	if _, timed := p.changes.control.(Timed); request.At != 0 && !timed {
		return nil, 0, statusf(http.StatusBadRequest, "this program's settings change from the next step on, not from one that is named")
	}
	var wanted []trace.Value
	for key, value := range request.Set {
		if len(key)+len(value) > maxSettingLength {
			return nil, 0, statusf(http.StatusBadRequest, "a setting may have %d bytes", maxSettingLength)
		}
		wanted = append(wanted, trace.Value{Key: key, Value: value})
	}
	if len(wanted) > maxSettings {
		return nil, 0, statusf(http.StatusBadRequest, "a request may change %d settings", maxSettings)
	}
	slices.SortFunc(wanted, func(a, b trace.Value) int { return strings.Compare(a.Key, b.Key) })
	return wanted, request.At, nil
}

const (
	maxSettings      = 16
	maxSettingLength = 1024 // bytes of key and value
)

// duration returns a parameter of a request, limited to two bounds. Without the
// parameter it returns otherwise.
func duration(r *http.Request, name string, otherwise, low, high time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, statusf(http.StatusBadRequest, "%s must be a duration such as 100ms", name)
	}
	return min(max(d, low), high), nil
}
