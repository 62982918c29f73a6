package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// watchedRun is a run of memtrain in this process, and a client of its probe.
type watchedRun struct {
	t      *testing.T
	client *http.Client
	end    func() []object // ends the run and returns what it printed
	told   string          // the end of what it should say on standard error
}

func startWatched(t *testing.T, args ...string) *watchedRun {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MEMTOP_DIR", filepath.Join(dir, "p"))
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	var wait sync.WaitGroup
	wait.Go(func() {
		_ = execute(ctx, append(args, "--json", "--steps", "0"), command.NewOutput(&stdout), command.NewOutput(&stderr), Reach{})
	}) // it is interrupted
	t.Cleanup(func() { cancel(); wait.Wait() })
	w := &watchedRun{t: t, client: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		sockets, err := filepath.Glob(filepath.Join(dir, "p", "*.sock"))
		if err != nil || len(sockets) != 1 {
			return nil, net.ErrClosed
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", sockets[0])
	}}}}
	w.end = func() []object {
		w.client.CloseIdleConnections()
		cancel()
		wait.Wait()
		if got := stderr.String(); !strings.HasSuffix(got, w.told) || (got == "") != (w.told == "") {
			t.Errorf("standard error is %q, want %q at its end", got, w.told)
		}
		return decodeObjects(t, &stdout)
	}
	return w
}

func decodeObjects(t *testing.T, r io.Reader) (list []object) {
	t.Helper()
	for d := json.NewDecoder(r); d.More(); {
		var o object
		fatal.If(t, d.Decode(&o))
		list = append(list, o)
	}
	return list
}

// ask sends a request and reads the answer into v. It reports whether there was
// one.
func (w *watchedRun) ask(method, path, body string, v any) bool {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://memtop"+path, strings.NewReader(body))
	fatal.If(w.t, err)
	r.Header.Set("Memtop-Viewer", "test")
	answer, err := w.client.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if answer.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(answer.Body)
		w.t.Fatalf("%s %s: %s %s", method, path, answer.Status, text)
	}
	fatal.If(w.t, json.NewDecoder(answer.Body).Decode(v))
	return true
}

// until waits for the run to have taken a step.
func (w *watchedRun) until(step int64) {
	w.t.Helper()
	probetest.Eventually(w.t, fmt.Sprintf("the run comes to step %d", step), func() bool {
		var info protocol.Info
		return w.ask(http.MethodGet, "/v1/info", "", &info) && info.Step >= step
	})
}

// TestAChangeFromOutsideHoldsFromItsStepOn changes a setting of a run through
// its socket, and compares the answer with what the run says itself.
func TestAChangeFromOutsideHoldsFromItsStepOn(t *testing.T) {
	for name, change := range map[string][2]string{
		"checkpoints": {"checkpoint", "block"}, "mixed precision": {"amp", "bf16"}, "the optimizer": {"optimizer", "adamw8bit"},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWatched(t, "--layers", "2", "--dim", "64", "--seq", "64", "--batch", "4")
			w.until(3)
			var answer protocol.Settings
			w.ask(http.MethodPost, "/v1/settings?wait=60s", `{"set":{"`+change[0]+`":"`+change[1]+`"}}`, &answer)
			if len(answer.Changes) != 1 || answer.Changes[0].Step == 0 || answer.Changes[0].Predicted == nil {
				t.Fatalf("got %+v, want one change that was predicted and holds", answer.Changes)
			}
			made := answer.Changes[0]
			w.until(made.Step + 3)
			list := w.end()
			for _, o := range list {
				if got, want := o.Settings[change[0]] == change[1], o.Step >= made.Step; got != want {
					t.Errorf("step %d: %s holds: %v; it is said to hold from step %d on", o.Step, change[0], got, made.Step)
				}
			}
			before, after := list[made.Step-2], list[made.Step+1]
			moved := after.PeakAllocated - before.PeakAllocated
			if moved == 0 || moved < made.Predicted.PeakAllocated-1024 || moved > made.Predicted.PeakAllocated+1024 {
				t.Errorf("the peak moved by %d bytes, predicted %d", moved, made.Predicted.PeakAllocated)
			}
		})
	}
}

// TestAnActionFromOutsideIsDoneOnce leaves memory behind by a change of settings.
func TestAnActionFromOutsideIsDoneOnce(t *testing.T) {
	w := startWatched(t, "--layers", "2", "--dim", "64", "--seq", "64", "--batch", "8")
	w.until(2)
	var answer protocol.Settings
	w.ask(http.MethodPost, "/v1/settings?wait=60s", `{"set":{"checkpoint":"block"}}`, &answer)
	w.until(answer.Changes[0].Step + 2)
	w.ask(http.MethodPost, "/v1/settings?wait=60s", `{"set":{"action":"empty-cache"}}`, &answer)
	made := answer.Changes[0]
	if made.State != trace.Applied || made.Predicted == nil || made.Predicted.Reserved == nil {
		t.Fatalf("got %+v, want what was predicted and done", made)
	}
	w.until(made.Step + 1)
	list := w.end()
	if o := list[made.Step-1]; o.ReservedBytes-o.PeakReservedBytes != *made.Predicted.Reserved || *made.Predicted.Reserved >= 0 {
		t.Errorf("reserved fell from %d to %d, predicted %d", o.PeakReservedBytes, o.ReservedBytes, *made.Predicted.Reserved)
	}
	for _, o := range list {
		if done := o.Settings["action"] != ""; done != (o.Step == made.Step) {
			t.Errorf("step %d says action %q, it was done in step %d", o.Step, o.Settings["action"], made.Step)
		}
	}
}

func TestARunShowsItself(t *testing.T) {
	w := startWatched(t, "--layers", "1", "--dim", "16", "--heads", "2", "--seq", "8", "--batch", "2")
	w.until(2)
	var info protocol.Info
	w.ask(http.MethodGet, "/v1/info", "", &info)
	if len(info.Devices) != 1 || info.Devices[0].Allocated == 0 || info.ReadOnly {
		t.Errorf("got %+v", info)
	}
	var settings protocol.Settings
	w.ask(http.MethodGet, "/v1/settings", "", &settings)
	var got []string
	for _, o := range settings.Options {
		got = append(got, o.Key)
	}
	nothing := []string{"main_copies", "shard"} // of a model in halves, of several processes
	want := append(slices.DeleteFunc(train.Keys(), func(key string) bool { return slices.Contains(nothing, key) }), "action")
	equal.Values(t, "options", want, got)
	w.end()
}

// TestAChangeThatNeedsTooMuchMemoryIsTakenBack switches checkpoints off where
// only a run with checkpoints fits.
func TestAChangeThatNeedsTooMuchMemoryIsTakenBack(t *testing.T) {
	w := startWatched(t, "--layers", "8", "--dim", "64", "--seq", "128", "--batch", "4", "--device-memory", "16MiB", "--checkpoint", "block")
	w.until(2)
	var answer protocol.Settings
	w.ask(http.MethodPost, "/v1/settings?wait=60s", `{"set":{"checkpoint":"none"}}`, &answer)
	made := answer.Changes[0]
	if made.State != trace.Refused || made.Reason != "out of memory with checkpoint=none" {
		t.Errorf("got %s at step %d because %q", made.State, made.Step, made.Reason)
	}
	var info protocol.Info
	w.ask(http.MethodGet, "/v1/info", "", &info)
	w.until(info.Step + 2)
	w.told = "out of memory with checkpoint=none; going on as before\n"
	for i, o := range w.end() {
		if o.Step != int64(i+1) || o.Settings["checkpoint"] != "block" {
			t.Errorf("step %d ran with checkpoint=%s", o.Step, o.Settings["checkpoint"])
		}
	}
}
