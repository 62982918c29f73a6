package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/wire"
)

// infoFields are the fields that /v1/info always has.
var infoFields = []struct {
	name string
	kind kind
}{
	{"version", number},
	{"capabilities", list},
	{"pid", number},
	{"command", text},
	{"user", text},
	{"host", text},
	{"started_us", number},
	{"read_only", flag},
	{"viewers", number},
	{"devices", list},
	{"step", number},
	{"probe_ns", number},
	{"viewers_ns", number},
	{"dropped_events", number},
	{"dropped_steps", number},
}

// kind is a type of JSON.
type kind string

const (
	number kind = "a whole number"
	text   kind = "a text"
	flag   kind = "true or false"
	list   kind = "a list"
)

// is reports whether a value is of the kind.
func (k kind) is(value json.RawMessage) bool {
	into := map[kind]any{number: new(int64), text: new(string), flag: new(bool), list: new([]json.RawMessage)}[k]
	return json.Unmarshal(value, into) == nil && string(value) != "null"
}

// askInfo asks the program for its description, for all examiners that need it.
func (e *examination) askInfo(ctx context.Context) (*protocol.Info, error) {
	a, err := e.viewer.ask(ctx, get("/v1/info"))
	if err != nil {
		return nil, err
	}
	return e.readInfo(a), nil
}

// readInfo reads the program's description, and checks its form.
func (e *examination) readInfo(a *answer) *protocol.Info {
	var info protocol.Info
	o, err := a.object()
	e.check("socket.http", a.proto == "HTTP/1.1", "HTTP/1.1", "%s", a.proto)
	ok := a.status == http.StatusOK && err == nil && contentType(a.header) == contentJSON && len(a.body) <= maxInfo
	if !e.check("info.json", ok, "status 200 and one JSON object of at most 64 KiB, as "+contentJSON,
		"status %d, %d bytes, Content-Type: %s: %v", a.status, len(a.body), a.header.Get("Content-Type"), errorOr(err, "an object")) {
		return &info
	}
	for _, field := range infoFields {
		e.check("info.fields", field.kind.is(o[field.name]), field.name+" is "+string(field.kind), "%s: %s", field.name, orMissing(o[field.name]))
	}
	if err := json.Unmarshal(a.body, &info); err != nil {
		e.broken("info.fields", "fields of the types that the page says", "%v", err)
		return &info
	}
	reason := info.Malformed()
	e.check("info.hello", info.Version == wire.Version, fmt.Sprint("version ", wire.Version), "version %d", info.Version)
	if info.Rank != nil {
		e.check("info.rank", info.Rank.Valid(), "0 <= rank < world and 0 <= local < world", "%+v", *info.Rank)
	}
	if b := info.Box; b != nil {
		e.check("info.box", (b.Path == "") != (b.Problem == ""), "a path or a problem", "path %q, problem %q", b.Path, b.Problem)
	}
	e.check("info.devices", reason == "", "at least one device, ascending; numbers that are not negative", "%s", reason)
	return &info
}

// orMissing formats a value, or says that it is missing.
func orMissing(value json.RawMessage) string {
	if value == nil {
		return "missing"
	}
	return string(value)
}

func errorOr(err error, otherwise string) string {
	if err != nil {
		return err.Error()
	}
	return otherwise
}

// can reports whether the program has a capability.
func (e *examination) can(capability string) bool {
	return slices.Contains(e.info.Capabilities, capability)
}

// examineInfo checks that the program's sums never shrink.
func (e *examination) examineInfo(ctx context.Context) {
	after, err := e.askInfo(ctx)
	if err != nil {
		e.broken("info.json", "an answer within 10 seconds", "%v", err)
		return
	}
	now, then := sumsOf(after), sumsOf(e.info)
	for name, value := range now {
		e.check("info.sums", value >= then[name], name+" never less than before", "%d, then %d", then[name], value)
	}
}

// examineOpen asks the program for its description while a stream is open.
func (e *examination) examineOpen(ctx context.Context, w *watcher) {
	info, err := e.askInfo(ctx)
	h := w.stream.Hello()
	if err != nil || h == nil {
		return // another check reports that
	}
	e.check("info.viewers", info.Viewers > 0, "at least 1 viewer while a stream is open", "%d", info.Viewers)
	said := fmt.Sprintf("pid %d, begun at %d, %s, %s, %s, %s, %v, read only %v", info.PID, info.Started, info.Command, info.User, info.Host, info.Writer, info.Capabilities, info.ReadOnly)
	hello := fmt.Sprintf("pid %d, begun at %d, %s, %s, %s, %s, %v, read only %v", h.PID, h.Started, h.Command, h.User, h.Host, h.Writer, h.Capabilities, h.ReadOnly)
	e.check("info.hello", said == hello, "what hello says: "+hello, "%s", said)
	if h.Rank != nil || info.Rank != nil {
		e.check("info.rank", h.Rank != nil && info.Rank != nil && *h.Rank == *info.Rank, fmt.Sprintf("what hello says: %+v", h.Rank), "%+v", info.Rank)
	}
}

func sumsOf(i *protocol.Info) map[string]int64 {
	sums := map[string]int64{
		"probe_ns": i.ProbeNS, "viewers_ns": i.ViewersNS, "dropped_events": i.Dropped, "dropped_steps": i.DroppedSteps, "step": i.Step,
	}
	for _, d := range i.Devices {
		sums[fmt.Sprintf("events of device %d", d.Device)] = d.Events
	}
	return sums
}
