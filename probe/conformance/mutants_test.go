package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// uncached is the settings of a program without a caching allocator.
var uncached = []trace.Setting{{Key: "allocator", Value: "none"}}

// mutants are a probe that passes, each with one thing wrong.
func mutants() map[string]mutant {
	return map[string]mutant{
		"a socket that others may open": {rule: "socket.mode", place: func(t *testing.T, path string) string {
			t.Helper()
			return path // whose mode is the umask's
		}},
		"a folder that others may look into": {rule: "socket.folder", place: func(t *testing.T, path string) string {
			t.Helper()
			if err := os.Chmod(filepath.Dir(path), 0o750); err != nil { //nolint:gosec // that is what is wrong
				t.Fatal(err)
			}
			return path
		}},
		"a socket of another name": {rule: "socket.name", place: func(_ *testing.T, path string) string {
			return filepath.Join(filepath.Dir(path), "probe.sock")
		}},

		"no settings where they are announced": {rule: "http.capabilities", answer: answered("/v1/settings", http.StatusNotFound)},
		"a parameter that it minds":            {rule: "http.unknown", answer: answered("/v1/info?nothing", http.StatusBadRequest)},
		"nonsense is an error of its own":      {rule: "http.400", answer: status(http.StatusBadRequest, http.StatusInternalServerError)},
		"anything is found":                    {rule: "http.404", answer: status(http.StatusNotFound, http.StatusOK)},
		"any method will do":                   {rule: "http.405", answer: status(http.StatusMethodNotAllowed, http.StatusBadRequest)},
		"no word of what methods do": {rule: "http.405", answer: func(_ *http.Request, a *recorded) {
			a.header.Del("Allow")
		}},
		"any body will do": {rule: "http.413", answer: status(http.StatusRequestEntityTooLarge, http.StatusBadRequest)},
		"a refusal that is HTML": {rule: "http.error", answer: func(_ *http.Request, a *recorded) {
			if a.status == http.StatusNotFound {
				a.body = []byte("<p>not found</p>")
			}
		}},
		"a refusal of two lines": {rule: "http.error", answer: func(_ *http.Request, a *recorded) {
			if a.status == http.StatusNotFound {
				a.body = []byte(`{"error": "there is\nnothing"}`)
			}
		}},

		"an info that is no JSON":     {rule: "info.json", answer: said("/v1/info", "{", "")},
		"an info of another type":     {rule: "info.json", answer: typed("/v1/info", "text/html")},
		"an info without a field":     {rule: "info.fields", answer: said("/v1/info", `"viewers_ns"`, `"other"`)},
		"a number that is a text":     {rule: "info.fields", answer: said("/v1/info", `"probe_ns":`, `"probe_ns":"1","other":`)},
		"another user than in hello":  {rule: "info.hello", answer: said("/v1/info", `"user":"`, `"user":"x`)},
		"another rank than in hello":  {rule: "info.rank", o: inAJob, answer: said("/v1/info", `"local":`, `"local":1,"other":`)},
		"a rank beyond its world":     {rule: "info.rank", o: inAJob, answer: said("/v1/info", `"world":`, `"world":1,"other":`)},
		"viewers that do not count":   {rule: "info.viewers", answer: said("/v1/info", `"viewers":`, `"viewers":0,"other":`)},
		"a size that is negative":     {rule: "info.devices", answer: said("/v1/info", `"allocated_bytes":`, `"allocated_bytes":-`)},
		"bytes that were never there": {rule: "info.memory", answer: said("/v1/info", `"requested_bytes":`, `"requested_bytes":1`)},
		"a step that took longer":     {rule: "info.step", answer: said("/v1/info", `"duration_ns":`, `"duration_ns":1`)},
		"a peak that was for another": {rule: "info.step", answer: said("/v1/info", `"categories_at_peak":[`, `"categories_at_peak":[{"name":"input","bytes":1},`)},
		"sums that shrink":            {rule: "info.sums", answer: shrinking()},
		"neither a box nor a reason":  {rule: "info.box", answer: said("/v1/info", `"viewers":`, `"black_box":{"path":"","problem":""},"viewers":`)},

		"a stream of another type":    {rule: "stream.answer", kind: "application/octet-stream"},
		"another magic":               {rule: "stream.header", header: func(h []byte) { h[1] = 'x' }},
		"a checksum nobody asked for": {rule: "stream.checksum", ask: checksum("crc32")},
		"another interval":            {rule: "stream.interval", frame: replaced(10, `"interval_ns":`, `"interval_ns":1`)},
		"no hello":                    {rule: "stream.hello-first", frame: without(10)},
		"a second hello":              {rule: "stream.hello-first", frame: twice(10)},
		"no counters":                 {rule: "stream.counters", frame: without(16)},
		"frames after the goodbye":    {rule: "stream.bye", frame: before(9, frame{kind: 17, payload: []byte(`{}`)})},
		"an end without a goodbye":    {rule: "stream.bye", frame: before(9, frame{kind: endOfStream})},
		"a device without a base":     {rule: "events.first", frame: without(8)},
		"no options":                  {rule: "stream.begin", frame: without(13)},
		"no past":                     {rule: "stream.past", ask: silentPast},

		"a type of a frame that is none": {rule: "frame.form", frame: before(9, frame{kind: 0x80})},
		"a wrong checksum": {rule: "frame.checksum", frame: func(_ int, f frame) []frame {
			f.damaged = f.kind == 9
			return []frame{f}
		}},
		"an entry that is cut":               {rule: "table.entries", frame: before(8, frame{kind: 1, payload: []byte{9, 'a'}})},
		"a table that does not come":         {rule: "table.numbers", frame: without(6)},
		"an entry of numbers to come":        {rule: "table.numbers", frame: before(8, frame{kind: 6, payload: []byte{1, 99}})},
		"a base that is cut":                 {rule: "base.layout", frame: shortened(8)},
		"a base of another device":           {rule: "base.device", frame: replaced(10, `"devices":[0]`, `"devices":[1]`)},
		"a base that is not what came of it": {rule: "base.same", frame: emptied()},
		"a first base that misses some":      {rule: "base.missed", frame: missing()},
		"segments in no order":               {rule: "base.segments", state: func(s *trace.State) { s.Segments = append(s.Segments, s.Segments[0]) }},
		"a block beyond its segment":         {rule: "base.blocks", state: func(s *trace.State) { s.Segments[0].Size -= 4096 }},

		"events that are cut":       {rule: "events.layout", frame: shortened(9)},
		"a hole in the events":      {rule: "events.first", frame: hole()},
		"too many events":           {rule: "events.most", frame: before(9, frame{kind: 9, payload: append([]byte{0, 0, 0x81, 0x80, 0x04}, make([]byte, 1<<16+1)...)})},
		"seconds since 1970":        {rule: "events.time", record: changed(func(e *trace.Event) { e.Time /= 1_000_000 })},
		"times that go back":        {rule: "events.time", record: changed(func(e *trace.Event) { e.Time -= 1000 * int64(e.Addr>>12&1) })},
		"memory handed out twice":   {rule: "events.live", record: doubled(trace.Alloc)},
		"memory given back twice":   {rule: "events.live", record: doubled(trace.Free)},
		"a block where none begins": {rule: "events.play", record: changed(func(e *trace.Event) { e.Addr += 1 << 40 })},
		"slack for the old":         {rule: "events.slack", ask: minor("1"), record: changed(func(e *trace.Event) { e.SetSlack(0) })},

		"segments of no allocator":       {rule: "uncached.events", set: uncached, record: doubledAs(trace.SegmentAlloc)},
		"memory of no bytes":             {rule: "uncached.sizes", set: uncached, record: changed(func(e *trace.Event) { e.Size = 0 })},
		"a segment of more than a block": {rule: "uncached.base", set: uncached},

		"parts that skip one":        {rule: "parts.order", frame: before(9, part(3, "a"), part(1, "b"))},
		"a pickle that is none":      {rule: "parts.pickle", frame: before(9, part(0, "no pickle"))},
		"a base and a snapshot":      {rule: "parts.devices", frame: before(9, part(0, wholePickle))},
		"tags of no device":          {rule: "parts.tags", frame: before(9, frame{kind: 19, payload: []byte{10, 0}})},
		"steps that are cut":         {rule: "steps.layout", frame: shortened(20)},
		"other steps in a batch":     {rule: "steps.same", frame: replaced(20, "checkpoint", "checkpoimt")},
		"too many steps in one":      {rule: "steps.most", frame: before(9, frame{kind: 20, payload: append([]byte{0x81, 0x20}, make([]byte, 12*4097)...)})},
		"batches for the old":        {rule: "steps.asked", ask: minor("2")},
		"a message that is no JSON":  {rule: "message.json", frame: before(9, frame{kind: 12, payload: []byte("{")})},
		"a number that is no number": {rule: "message.json", frame: before(9, frame{kind: 12, payload: []byte(`{"step": "one"}`)})},
		"a message without an end":   {rule: "message.most", frame: before(8, frame{kind: 12, payload: bytes.Repeat([]byte(" "), 4<<20+1)})},
		"a program without a pid":    {rule: "message.hello", frame: replaced(10, `"pid":`, `"pid":0,"other":`)},
		"settings without bases":     {rule: "message.settings", frame: before(9, frame{kind: 11, payload: []byte("{}")})},
		"steps that go back":         {rule: "message.step", frame: twice(12)},
		"a peak below the rest":      {rule: "message.step", frame: replaced(12, `"allocated_bytes":0`, `"allocated_bytes":9`)},
		"a step before its end":      {rule: "message.step-after", record: ending()},
		"a sum that shrinks":         {rule: "message.counters", frame: replaced(16, `"time_us":1`, `"time_us":`)},
		"an option twice":            {rule: "message.options", frame: replaced(13, `"key":"checkpoint"`, `"key":"amp"`)},
		"nothing to choose from":     {rule: "message.options", frame: replaced(13, `"choices":["off","bf16"]`, `"choices":[]`)},
		"a change without its step":  {rule: "message.change", frame: replaced(14, `"step":`, `"other":`)},
		"gauges of seconds":          {rule: "message.gauges", frame: before(16, frame{kind: 15, payload: []byte(`[{"device":0,"time_us":1700000000}]`)})},

		"a pickle that ends early": {rule: "snapshot.pickle", answer: func(r *http.Request, a *recorded) {
			if r.URL.Path == "/v1/snapshot" {
				a.body = a.body[:len(a.body)/2]
			}
		}},
		"a snapshot of something else": {rule: "snapshot.memory", answer: otherSnapshot()},
		"settings without changes":     {rule: "settings.answer", answer: said("/v1/settings", `"changes"`, `"other"`)},
		"another change than asked":    {rule: "settings.set", answer: said("/v1/settings", `"changes":[{"id":1,"time_us"`, `"changes":[],"other":[{"id":1,"time_us"`)},
		"a step that it does not know": {rule: "settings.at", answer: status(http.StatusBadRequest, http.StatusOK)},
		"no holder":                    {rule: "settings.holder", answer: said("/v1/settings", `"holder"`, `"other"`)},
		"two at a time":                {rule: "settings.holder", ask: func(r *http.Request) { r.Header.Set("Memtop-Viewer", "all") }},
		"a right without an end": {rule: "settings.released", answer: func(r *http.Request, a *recorded) {
			if name := r.Header.Get("Memtop-Viewer"); r.URL.Path == "/v1/info" {
				a.body = bytes.Replace(a.body, []byte(`"probe_ns"`), []byte(`"changing":"`+name+`","probe_ns"`), 1)
			}
		}},
		"names of any length":           {rule: "settings.name", ask: func(r *http.Request) { r.Header.Del("Memtop-Viewer") }},
		"a change of what is read-only": {rule: "settings.read-only", o: readOnly, answer: status(http.StatusForbidden, http.StatusOK)},
		"a prediction without one":      {rule: "prediction.answer", answer: said("/v1/prediction", `"predicted"`, `"other"`)},
		"a prediction of anything":      {rule: "prediction.refused", answer: answered("/v1/prediction", http.StatusOK)},
	}
}

var readOnly = probe.Options{ReadOnly: true}

var inAJob = probe.Options{Rank: &trace.Rank{Job: "job", Rank: 2, World: 4, Local: 0, Launcher: "torchrun"}}

// TestEveryMutantIsCaught has each be named by the rule that it breaks.
func TestEveryMutantIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred probes with seconds to answer are no work for the race detector; it has one of each kind in the other tests")
	}
	t.Parallel()
	o := quick
	o.most = 3 * time.Second
	slots := make(chan struct{}, 16) // they mostly wait
	var all sync.WaitGroup
	for name, m := range mutants() {
		slots <- struct{}{}
		path := m.running(t)
		all.Go(func() {
			defer func() { <-slots }()
			for tries := 1; ; tries++ { // a busy machine may not have seen enough
				r, err := Examine(t.Context(), path, o)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				i := slices.IndexFunc(r.Rules, func(rule Result) bool { return rule.Name == m.rule })
				switch {
				case r.Rules[i].Outcome == Broken:
					return
				case r.Rules[i].Outcome != NotSeen || tries == 5:
					t.Errorf("%s: %+v; broken are %v", name, r.Rules[i], broken(r))
					return
				}
			}
		})
	}
	all.Wait()
}

func broken(r *Report) []string {
	var names []string
	for _, rule := range r.Rules {
		if rule.Outcome == Broken {
			names = append(names, rule.Name)
		}
	}
	return names
}

// broadRules are the rules of which a probe that breaks one answers nothing more.
var broadRules = []string{"http.survives", "stream.goes-on", "socket.http"}

// TestEveryRuleHasAMutant has no rule that nothing could break.
func TestEveryRuleHasAMutant(t *testing.T) {
	all := make(map[string]bool)
	for m := range maps.Values(mutants()) {
		all[m.rule] = true
	}
	for i := range rules {
		if name := rules[i].Name; !all[name] && !slices.Contains(broadRules, name) {
			t.Errorf("no mutant breaks %s", name)
		}
	}
}

// answered has requests whose path begins so be answered with a status.
func answered(path string, by int) func(*http.Request, *recorded) {
	return func(r *http.Request, a *recorded) {
		if strings.HasPrefix(r.URL.RequestURI(), path) {
			a.status = by
		}
	}
}

// typed has answers of a path be of another type.
func typed(path, kind string) func(*http.Request, *recorded) {
	return func(r *http.Request, a *recorded) {
		if r.URL.Path == path {
			a.header.Set("Content-Type", kind)
		}
	}
}

// shrinking has a sum of /v1/info be less each time.
func shrinking() func(*http.Request, *recorded) {
	var asked atomic.Int64
	return func(r *http.Request, a *recorded) {
		var o map[string]any
		if r.URL.Path != "/v1/info" || json.Unmarshal(a.body, &o) != nil {
			return
		}
		o["viewers_ns"] = 1_000_000 - asked.Add(1)
		a.body, _ = json.Marshal(o)
	}
}

func checksum(name string) func(*http.Request) {
	return func(r *http.Request) {
		q := r.URL.Query()
		q.Set("checksum", name)
		r.URL.RawQuery = q.Encode()
	}
}

func minor(version string) func(*http.Request) {
	return func(r *http.Request) {
		q := r.URL.Query()
		q.Set("minor", version)
		r.URL.RawQuery = q.Encode()
	}
}

// silentPast has a viewer that asks for the past wait for good.
func silentPast(r *http.Request) {
	if r.URL.Query().Has("past") {
		<-r.Context().Done()
	}
}

// twice sends frames of a type twice.
func twice(kind byte) func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind == kind {
			return []frame{f, f}
		}
		return []frame{f}
	}
}

// shortened cuts frames of a type.
func shortened(kind byte) func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind == kind {
			f.payload = f.payload[:len(f.payload)-1]
		}
		return []frame{f}
	}
}

// emptied sends another base after each, in which there is no memory.
func emptied() func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind != 8 {
			return []frame{f}
		}
		end := 2 + slices.IndexFunc(f.payload[1:], func(b byte) bool { return b < 0x80 })
		empty := append(slices.Clone(f.payload[:end]), 0, 0, 0)
		return []frame{f, {kind: 8, payload: empty}}
	}
}

// missing has the first base miss an event: its fields are a device of one byte, the
// number of the next event, and how many are missing.
func missing() func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind == 8 {
			end := 1 + slices.IndexFunc(f.payload[1:], func(b byte) bool { return b < 0x80 })
			f.payload = slices.Clone(f.payload)
			f.payload[end+1] = 10
		}
		return []frame{f}
	}
}

// hole has the first number of each frame of events be another: the lowest bits of its
// first byte.
func hole() func(int, frame) []frame {
	return func(_ int, f frame) []frame {
		if f.kind == 9 {
			f.payload = slices.Clone(f.payload)
			f.payload[1] ^= 2
		}
		return []frame{f}
	}
}

// part is a frame of a snapshot.
func part(left byte, text string) frame {
	return frame{kind: 18, payload: append([]byte{left}, text...)}
}

// wholePickle is a snapshot of device 0 with a segment of 512 bytes.
const wholePickle = "\x80\x02}(X\x08\x00\x00\x00segments](}(X\x06\x00\x00\x00deviceK\x00X\x07\x00\x00\x00addressM\x00\x02X\x0a\x00\x00\x00total_sizeM\x00\x02X\x06\x00\x00\x00blocks](}(X\x04\x00\x00\x00sizeM\x00\x02X\x05\x00\x00\x00stateX\x10\x00\x00\x00active_allocatedueueX\x0d\x00\x00\x00device_traces](]eu."

// changed has each event be another.
func changed(change func(*trace.Event)) func(trace.Event) []trace.Event {
	return func(e trace.Event) []trace.Event {
		change(&e)
		return []trace.Event{e}
	}
}

// doubled records events of a kind twice.
func doubled(kind trace.Kind) func(trace.Event) []trace.Event {
	return func(e trace.Event) []trace.Event {
		if e.Kind == kind {
			return []trace.Event{e, e}
		}
		return []trace.Event{e}
	}
}

// doubledAs records another event after each.
func doubledAs(kind trace.Kind) func(trace.Event) []trace.Event {
	return func(e trace.Event) []trace.Event {
		other := e
		other.Kind = kind
		return []trace.Event{e, other}
	}
}

// ending has steps end that had ended.
func ending() func(trace.Event) []trace.Event {
	return func(e trace.Event) []trace.Event {
		other := e
		other.Kind, other.Size = trace.StepEnd, 1
		return []trace.Event{e, other}
	}
}

// otherSnapshot has snapshots have all of their blocks in use.
func otherSnapshot() func(*http.Request, *recorded) {
	return func(r *http.Request, a *recorded) {
		if r.URL.Path == "/v1/snapshot" {
			a.body = []byte(wholePickle)
		}
	}
}
