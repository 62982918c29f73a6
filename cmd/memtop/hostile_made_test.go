package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

// evil returns a text with characters of every kind that a terminal obeys or
// hides: of C0 and C1, bidirectional ones, some without width, tags, separators,
// private ones, and what is no character.
func evil(name string) string {
	return name + "\x01\x1b]0;x\x07\x7f\b\r" + "\u0085\u009b31m\u009d0;x\u009c" + "\u202a\u202e\u2066\u2069\u200e\u061c" +
		"\u200b\u200c\u200d\u2060\ufeff\u00ad" + "\U000e0001\U000e0041\U000e007f" + "\u2028\u2029" + "\ue000\U000f0000" + "\ufffe\U0001fffe" + name
}

// object is a dict of a snapshot. It gets a key that memtop does not know.
func object(keysAndValues ...any) map[string]any {
	o := map[string]any{evil("unknown"): evil("value")}
	for i := 0; i < len(keysAndValues); i += 2 {
		o[keysAndValues[i].(string)] = keysAndValues[i+1]
	}
	return o
}

// hostileSnapshot is a snapshot as JSON, all of whose texts are evil. More says
// that something was allocated besides.
func hostileSnapshot(more bool) map[string]any {
	frames := func(name string) []any {
		return []any{object("filename", evil("file")+".py", "line", 7, "name", evil(name), "fx_node_op", evil("op"), "fx_node_name", evil("node"))}
	}
	event := func(action, name string, addr, size int) any {
		return object("action", action, "addr", addr, "size", size, "stream", 0, "time_us", 1700000000000000+addr, "frames", frames(name),
			"user_metadata", evil("metadata"), "compile_context", evil("context"), "category", evil("category"), "forward_frames", []any{evil("forward")})
	}
	entries := []any{
		event("segment_alloc", "segment", 1<<20, 2<<20), event("alloc", "forward", 1<<20, 4096), event(evil("action"), "other", 1<<20, 0),
		event("annotate", "annotate", 1<<20, 0), event("oom", "oom", 0, 1<<40),
	}
	blocks := []any{object("address", 1<<20, "size", 4096, "requested_size", 4096, "state", "active_allocated", "frames", frames("forward"))}
	left := 2<<20 - 4096
	if more {
		entries = append(entries, event("alloc", "more", 1<<20+4096, 1<<20))
		blocks = append(blocks, object("address", 1<<20+4096, "size", 1<<20, "requested_size", 1<<20, "state", "active_allocated", "frames", frames("more")))
		left -= 1 << 20
	}
	blocks = append(blocks, object("address", 3<<20-left, "size", left, "requested_size", 0, "state", evil("state"), "frames", []any{}))
	segment := object("device", 0, "address", 1<<20, "total_size", 2<<20, "stream", 0, "segment_type", evil("type"), "segment_pool_id", []any{0, 0},
		"frames", frames("segment"), "blocks", blocks)
	return object(
		"segments", []any{segment}, "device_traces", []any{entries},
		"allocator_settings", object("PYTORCH_CUDA_ALLOC_CONF", evil("conf"), evil("key"), object(evil("inner"), []any{evil("item")})),
		"external_annotations", []any{object("name", evil("annotation"), "stage", "START", "device", 0, "time_us", 1700000000000000)},
	)
}

// hostileStage is what there is to run commands on.
type hostileStage struct {
	program string
	stands  map[string]string
}

func newHostileStage(t *testing.T) *hostileStage {
	t.Helper()
	program, err := os.Executable()
	fatal.If(t, err)
	folder, pid := t.TempDir(), strconv.Itoa(os.Getpid())
	s := &hostileStage{program, map[string]string{aProcess: pid, aRecording: filepath.Join(folder, evil("run")+".mtr")}}
	for name, more := range map[string]bool{aFile: false, another: true} {
		text, err := json.Marshal(hostileSnapshot(more))
		s.stands[name] = filepath.Join(folder, evil(name)+".json")
		fatal.If(t, err, os.WriteFile(s.stands[name], text, 0o600))
	}
	s.listen(t)
	s.memtop(t, []string{"record", aProcess, "-o", aRecording, "--for", "1s"})
	return s
}

// listen makes this process one to attach to.
func (s *hostileStage) listen(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	fatal.If(t, os.Chmod(folder, 0o700))
	t.Setenv("MEMTOP_DIR", folder)
	source, err := snapshots.Open(t.Context(), s.stands[another], snapshots.Options{})
	fatal.If(t, err)
	p, err := probe.Listen(t.Context(), probe.Options{Program: evil("program"), Writer: evil("writer"), Control: hostileControl{}}, hostileSource{source.Trace()})
	fatal.If(t, err)
	t.Cleanup(func() { _ = p.Close() })
	amounts := []trace.Amount{{Name: evil("category"), Bytes: 1 << 20}}
	p.Step(trace.Step{
		Number: 1, Time: 1, Duration: 1, Allocated: 1 << 20, Reserved: 2 << 20, PeakAllocated: 1 << 20, PeakReserved: 2 << 20,
		Categories: amounts, AtPeak: amounts, Settings: []trace.Value{{Key: evil("key"), Value: evil("value")}},
		Layers: []trace.Layer{{Name: evil("layer"), Class: evil("class"), OutputShape: evil("shape"), DType: evil("dtype"), SavedBytes: 4096}},
	})
}

// hostileSource is a program that has the memory of a trace.
type hostileSource struct{ t *trace.Trace }

func (h hostileSource) Devices() []int            { return []int{0} }
func (h hostileSource) Tables() trace.Tables      { return *h.t.Tables }
func (h hostileSource) Settings() []trace.Setting { return h.t.Settings }
func (h hostileSource) Observe(trace.Recorder)    {}

func (h hostileSource) State(_ int, at func()) trace.State {
	at()
	return h.t.Devices[0].Final
}

// hostileControl has settings that nothing fits.
type hostileControl struct{}

func (hostileControl) Options() []trace.Option {
	lr := trace.Option{Key: "lr", Value: evil("value"), About: evil("about"), Choices: []string{evil("choice")}, Free: true}
	key := lr
	key.Key = evil("key")
	return []trace.Option{lr, key}
}

func (hostileControl) Set(_, _ string) error { return errors.New(evil("reason")) }

func (hostileControl) Predict(context.Context, []trace.Value) (*trace.Prediction, error) {
	return nil, nil
}
