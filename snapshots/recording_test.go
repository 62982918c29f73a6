package snapshots_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// recording returns a recording of some of what a program did.
func recording(t testing.TB) []byte {
	t.Helper()
	tr := pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 300})
	var b bytes.Buffer
	e := wire.NewEncoder(&b)
	e.Hello(&wire.Hello{PID: 7, Command: "train", Writer: "a test"})
	e.Tables(tr.Tables)
	for i := range tr.Devices {
		d := &tr.Devices[i]
		base, _ := trace.Rewind(tr, d)
		e.Base(d.ID, 0, &base, 0, "")
		for at := 0; at < d.Events.Len(); {
			span := d.Events.Span(at)
			e.Events(d.ID, int64(at), span)
			at += len(span)
		}
	}
	e.Step(&trace.Step{Number: 1, Loss: 2.5})
	e.Bye("the program ended")
	fatal.If(t, e.Flush())
	return b.Bytes()
}

func TestRecordingsAreOpenedLikeSnapshots(t *testing.T) {
	whole := recording(t)
	tests := map[string]struct {
		content   []byte
		container string
		truncated bool
	}{
		"as it is":          {whole, "mtr", false},
		"under gzip":        {gzipped(t, whole), "gzip", false},
		"under zstd":        {zstandard(t, whole), "zstd", false},
		"not whole":         {whole[:len(whole)-30], "mtr", true},
		"not whole in gzip": {gzipped(t, whole[:len(whole)-30]), "gzip", true},
		"gzip that is not whole": {
			gzipped(t, whole)[:len(gzipped(t, whole))-20], "gzip", true,
		},
		"gzip that is not whole, after a whole frame": {flushed(t, whole), "gzip", true},
	}
	want := pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 300})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := write(t, test.content)
			source, err := snapshots.Open(t.Context(), path, snapshots.Options{})
			fatal.If(t, err)
			got := source.Trace()
			if i := got.Info; i.Kind != "recording" || i.Container != test.container || i.Path != path ||
				i.Bytes != int64(len(test.content)) || i.Truncated != test.truncated || i.Growing {
				t.Errorf("info %+v", i)
			}
			if got.Live == nil || got.Live.Connected || got.Live.PID != 7 || (len(got.Notices) > 0) != test.truncated {
				t.Errorf("live %+v, notices %q", got.Live, got.Notices)
			}
			for i := range want.Devices {
				if g, w := got.Devices[i].Events.Len(), want.Devices[i].Events.Len(); g != w && !test.truncated {
					t.Errorf("device %d has %d events, want %d", got.Devices[i].ID, g, w)
				}
			}
		})
	}
}

// flushed is a gzip stream that was cut after content was flushed to it.
func flushed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(content)
	fatal.If(t, err, w.Flush())
	return b.Bytes()
}

func TestRecordingsThatCannotBeReadSayWhy(t *testing.T) {
	whole := recording(t)
	newer := bytes.Clone(whole)
	newer[6] = 9
	damaged := bytes.Clone(whole)
	damaged[len(whole)/2] ^= 1
	_, err := snapshots.Open(t.Context(), write(t, newer), snapshots.Options{})
	var version *wire.VersionError
	if !errors.As(err, &version) || version.Theirs != 9 || !strings.Contains(err.Error(), "update this program") {
		t.Errorf("a newer version: %v", err)
	}
	for name, content := range map[string][]byte{
		"damaged": damaged, "transferred as text": bytes.Replace(whole, []byte("\r\n"), []byte("\n"), 1), "its first bytes": whole[:20],
	} {
		_, err := snapshots.Open(t.Context(), write(t, content), snapshots.Options{})
		var corrupt *snapshots.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Remedy == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
