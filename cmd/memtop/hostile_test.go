package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/spf13/cobra"
)

// The words of the command lines below that stand for something of the test's.
const (
	aFile      = "FILE"      // a snapshot
	another    = "ANOTHER"   // one with more in it
	aRecording = "RECORDING" // of the process
	aProcess   = "PID"
	anOutput   = "OUT" // checked when the command has ended
)

// hostileUses are command lines of every command, on files and processes whose
// every text is hostile.
var hostileUses = map[string][][]string{
	"memtop advise":                {{aProcess}, {aProcess, "--json"}, {aFile}, {aFile, "--json"}, {evil("pid")}},
	"memtop attach":                {{aProcess}, {aProcess, "--json"}, {evil("pid")}},
	"memtop bridge":                {}, // what it says is for a program
	"memtop check":                 {{aFile, "--max-peak", "1"}, {aFile, "--max-peak", "1", "--json"}, {aProcess, "--max-peak", "1"}, {aFile, "--max-growth", "1"}},
	"memtop completion bash":       {{}},
	"memtop completion fish":       {{}},
	"memtop completion powershell": {{}},
	"memtop completion zsh":        {{}},
	"memtop conformance":           {{aProcess, "--for", "1s"}, {aProcess, "--for", "1s", "--json"}, {evil("pid")}},
	"memtop demo":                  {{"--once", "--", "--model", evil("model")}, {"--once", "--", "--data", evil("/no/data")}},
	"memtop diff":                  {{aFile, another}, {aFile, another, "--json"}, {aFile, another, "--max-growth", "1"}, {aFile, evil("/no/file")}},
	"memtop estimate":              {{"--model", evil("model")}, {"--checkpoint", evil("policy")}, {"--offload", "activations=" + evil("layer")}},
	"memtop export":                hostileExports(),
	"memtop help":                  {{evil("topic")}},
	"memtop info":                  {{}},
	"memtop ls":                    {{}, {"--json"}, {"--dead"}, {"--dead", "--json"}},
	"memtop mcp":                   {{}, {evil("/no/folder")}},
	"memtop metrics":               {{}, {"--to", "text"}, {"--to", evil("format")}, {"--listen", evil("address")}},
	"memtop open":                  {{aFile}, {aFile, another}, {aRecording}, {aFile, "--log", anOutput}},
	"memtop record":                {{aProcess, "-o", anOutput + ".mtr", "--for", "50ms"}, {aProcess, "-o", evil("/no/folder") + "/a"}},
	"memtop rehearse":              {{evil("/no/program")}, {"--json", "--", evil("program")}, {"--gpu", evil("gpu")}, {"--vary", evil("name") + "=1..2", "--", "true"}, {"--vary", "a=" + evil("1"), "--", "true"}, {"-o", evil("/no/folder") + "/a", "--", "true"}, {"--", "sh", "-c", "exit 1", evil("argument")}},
	"memtop replay":                {{aFile}, {aFile, "--json"}, {aProcess}, {aFile, "--alloc-conf", evil("settings")}},
	"memtop report":                {{aFile}, {aFile, "--json"}, {aRecording}, {aRecording, "--json"}, {aProcess}, {aFile, "--device", "9"}, {aFile, "--log", anOutput}},
	"memtop run":                   {{evil("/no/program")}, {"--", evil("program")}},
	"memtop set":                   {{aProcess, evil("key") + "=" + evil("value")}, {aProcess, "lr=1", "--json"}, {aProcess, evil("key")}},
	"memtop snapshot":              {{aProcess, "-o", anOutput + ".pickle"}, {aProcess, "-o", evil("/no/folder") + "/a"}},
	"memtop version":               {{}},
}

// binaryFormats are the exports that are no text.
var binaryFormats = []string{"pickle", "pprof"}

func hostileExports() [][]string {
	uses := [][]string{{aFile, "--to", evil("format"), "-o", anOutput}, {aFile, "--to", "json", "-o", evil("/no/folder") + "/a"}}
	for _, f := range exports() {
		output := anOutput + f.Extensions[0]
		if !slices.Contains(binaryFormats, f.Name) {
			uses = append(uses, []string{aFile, "--to", f.Name, "-o", "-"})
			output = anOutput
		}
		uses = append(uses, []string{aFile, "--to", f.Name, "-o", output}, []string{aRecording, "--to", f.Name, "-o", output})
	}
	return uses
}

// TestNothingHostileIsPrinted runs every command that there is, and every format
// of export, and looks at all that they write.
func TestNothingHostileIsPrinted(t *testing.T) {
	fatal.IfShort(t)
	s := newHostileStage(t)
	for _, path := range commandPaths() {
		t.Run(path, func(t *testing.T) {
			uses, ok := hostileUses[path]
			if !ok {
				t.Fatalf("nothing in hostileUses says how to run %q on hostile input", path)
			}
			uses = append(slices.Clone(uses), []string{"--" + evil("flag")}, []string{evil("a"), evil("b"), evil("c")})
			for _, use := range uses {
				s.run(t, append(strings.Fields(path)[1:], use...))
			}
		})
	}
}

// commandPaths returns all commands that do something by themselves.
func commandPaths() []string {
	a := newApp(io.Discard, io.Discard)
	root := a.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var paths []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() {
			paths = append(paths, c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
	return paths
}

// TestJSONKeepsHostileText looks for what was escaped where a script looks.
func TestJSONKeepsHostileText(t *testing.T) {
	s := newHostileStage(t)
	var report struct {
		Devices []struct{ Actions map[string]int }
	}
	for _, use := range [][]string{{"report", aFile, "--json"}, {"export", aFile, "--to", "json", "-o", "-"}} {
		s.parse(t, use, &report)
		if got := report.Devices[0].Actions; got[evil("action")] != 1 {
			t.Errorf("%v: the actions are %q", use, slices.Collect(maps.Keys(got)))
		}
	}
	var diff struct {
		Devices []struct{ Stacks []struct{ Name string } }
	}
	s.parse(t, []string{"diff", aFile, another, "--json"}, &diff)
	names := fmt.Sprintf("%q", diff.Devices[0].Stacks)
	if want := fmt.Sprintf("%q", evil("more")); !strings.Contains(names, want[1:len(want)-1]) {
		t.Errorf("the names are %s", names)
	}
}

// TestBinaryOutputIsLeftAsItIs reads back what goes to standard output.
func TestBinaryOutputIsLeftAsItIs(t *testing.T) {
	s := newHostileStage(t)
	for _, use := range [][]string{
		{"export", aFile, "--to", "pickle", "-o", "-"}, {"snapshot", aProcess, "-o", "-"}, {"record", aProcess, "-o", "-", "--for", "200ms"},
	} {
		path := filepath.Join(t.TempDir(), "out")
		out, _ := s.memtop(t, use)
		fatal.If(t, os.WriteFile(path, out, 0o600))
		source, err := snapshots.Open(t.Context(), path, snapshots.Options{})
		if err != nil {
			t.Errorf("%v: %v", use, err)
		} else if !slices.Contains(source.Trace().Tables.Strings, evil("forward")) {
			t.Errorf("%v: the text is lost", use)
		}
	}
}

// memtop runs memtop.
func (s *hostileStage) memtop(t *testing.T, words []string) (stdout, stderr []byte) {
	t.Helper()
	words = slices.Clone(words)
	for i, word := range words {
		if stands, ok := s.stands[word]; ok {
			words[i] = stands
		}
	}
	c := exec.CommandContext(t.Context(), s.program)
	c.Args = append([]string{"memtop"}, words...)
	c.Env = append(os.Environ(), "MEMTOP_EVIL="+evil("value"))
	var out, told bytes.Buffer
	c.Stdout, c.Stderr = &out, &told
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Logf("memtop %.80q: exit code %d, %d and %d bytes", words, c.ProcessState.ExitCode(), out.Len(), told.Len())
	return out.Bytes(), told.Bytes()
}

// run runs memtop and looks at all that it wrote. An output with an extension is
// a binary one.
func (s *hostileStage) run(t *testing.T, words []string) (stdout []byte) {
	t.Helper()
	output := filepath.Join(t.TempDir(), anOutput)
	words = slices.Clone(words)
	for i, word := range words {
		if ending, ok := strings.CutPrefix(word, anOutput); ok {
			words[i] = output + ending
		}
	}
	stdout, stderr := s.memtop(t, words)
	written, _ := os.ReadFile(output) // where there is a text
	for name, text := range map[string][]byte{"standard output": stdout, "standard error": stderr, "the file": written} {
		if at := unprintable(text); at >= 0 {
			t.Errorf("memtop %q: %s has %q", words, name, text[at:min(at+40, len(text))])
		}
	}
	if bytes.Contains(stderr, []byte("a bug in")) {
		t.Errorf("memtop %q: %s", words, stderr)
	}
	if slices.Contains(words, "--json") && len(stdout) > 0 && !json.Valid(stdout) {
		t.Errorf("memtop %q prints what is no JSON: %s", words, stdout)
	}
	return stdout
}

func (s *hostileStage) parse(t *testing.T, words []string, to any) {
	t.Helper()
	if err := json.Unmarshal(s.run(t, words), to); err != nil {
		t.Fatalf("%v: %v", words, err)
	}
}

// unprintable returns where text has a byte that a terminal should not see, −1
// for nowhere.
func unprintable(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

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
	s.memtop(t, []string{"record", aProcess, "-o", aRecording, "--for", "200ms"})
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
