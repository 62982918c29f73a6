package snapshots_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// samplePickle returns a small consistent snapshot.
func samplePickle(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, pytorch.Write(&b, pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 300})))
	return b.Bytes()
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	fatal.If(t, w.Close())
	return b.Bytes()
}

func zstandard(t testing.TB, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	fatal.If(t, err)
	return w.EncodeAll(content, nil)
}

// page returns a page as trace_plot saves it; the pickles are padded as there.
func page(pickles ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString("\n<!DOCTYPE html>\n<html>\n<script type=\"module\">\nconst local_files = [")
	for i, p := range pickles {
		p = append(bytes.Clone(p), make([]byte, 3-len(p)%3)...)
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"name": "rank%d.pickle", "base64": "%s"}`, i, base64.StdEncoding.EncodeToString(p))
	}
	b.WriteString("]\nadd_local_files(local_files, 'Active Memory Timeline')\n</script>\n</html>\n")
	return b.Bytes()
}

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := fatal.Write(t, "a file of any name.txt", content)
	return path
}

func open(t testing.TB, content []byte) (*trace.Trace, error) {
	t.Helper()
	source, err := snapshots.Open(t.Context(), write(t, content), snapshots.Options{})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return source.Trace(), nil
}

// text returns a trace's contents without what is said of its file.
func text(t testing.TB, tr *trace.Trace) string {
	t.Helper()
	contents := *tr
	contents.Info, contents.Notices = trace.Info{}, nil
	return tracetest.Text(t, &contents)
}

func TestOpenSeesThroughEveryContainer(t *testing.T) {
	plain := samplePickle(t)
	bare, err := open(t, plain)
	fatal.If(t, err)
	want := text(t, bare)
	tests := map[string]struct {
		content   []byte
		container string
		notice    string
	}{
		"a plain pickle":              {plain, "pickle", ""},
		"bytes after the STOP":        {append(bytes.Clone(plain), 0, 0, 0), "pickle", ""},
		"a gzip of it":                {gzipped(t, plain), "gzip", ""},
		"a gzip of a gzip":            {gzipped(t, gzipped(t, plain)), "gzip", ""},
		"a zstd of it":                {zstandard(t, plain), "zstd", ""},
		"a zstd after a skippable":    {append([]byte("\x5e\x2a\x4d\x18\x02\x00\x00\x00hi"), zstandard(t, plain)...), "zstd", ""},
		"the page of trace_plot":      {page(plain), "html", ""},
		"a page far into its file":    {append([]byte("<html>"+strings.Repeat(" \"base6", 40_000)), page(plain)...), "html", ""},
		"a page with several":         {page(plain, plain, plain), "html", `The page holds 3 snapshots; this is the first, "rank0.pickle".`},
		"a gzipped page":              {gzipped(t, page(plain)), "gzip", ""},
		"a page of a gzipped pickle":  {page(gzipped(t, plain)), "html", ""},
		"a gzip in two members":       {append(gzipped(t, plain[:1000]), gzipped(t, plain[1000:])...), "gzip", ""},
		"a gzip with junk at its end": {append(gzipped(t, plain), "junk"...), "gzip", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := open(t, test.content)
			fatal.If(t, err)
			equal.Values(t, "not the trace of the plain pickle", want, text(t, got))
			if got.Info.Container != test.container {
				t.Errorf("container is %q, want %q", got.Info.Container, test.container)
			}
			if got.Info.Bytes != int64(len(test.content)) {
				t.Errorf("%d bytes, want those of the file, %d", got.Info.Bytes, len(test.content))
			}
			if notices := strings.Join(got.Notices, "\n"); !strings.Contains(notices, test.notice) {
				t.Errorf("the notices are %q, want one with %q", notices, test.notice)
			}
		})
	}
}

func TestOpenReadsWhatIsNotPickled(t *testing.T) {
	const snapshot = `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2, "stream": 0}]]}`
	tests := map[string]struct{ content, container string }{
		"JSON":                     {snapshot, "json"},
		"JSON after a mark":        {"\xef\xbb\xbf\n " + snapshot, "json"},
		"JSON with an end of file": {snapshot + "\n", "json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := open(t, []byte(test.content))
			fatal.If(t, err)
			if n := got.Devices[0].Events.Len(); n != 1 {
				t.Errorf("%d events, want 1", n)
			}
			if got.Info.Container != test.container || got.Info.PickleProtocol != -1 {
				t.Errorf("container is %q with protocol %d, want %q with -1",
					got.Info.Container, got.Info.PickleProtocol, test.container)
			}
		})
	}
}

func TestOpenSaysWhatAFileIsWhenItIsNoSnapshot(t *testing.T) {
	pickle := samplePickle(t)
	damaged := gzipped(t, pickle)
	damaged[len(damaged)/2] ^= 0xff
	tests := map[string]struct {
		content []byte
		want    string
	}{
		"an empty file":           {nil, "is empty"},
		"an empty gzip":           {gzipped(t, nil), "is empty"},
		"an answer of report":     {[]byte(" {\n  \"schema\": \"memtop.report/1\",\n"), "what memtop report --json printed of a snapshot"},
		"a git-lfs pointer":       {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), "git-lfs pointer"},
		"a checkpoint":            {[]byte("PK\x03\x04archive/data.pkl"), "torch.save"},
		"some text":               {[]byte("step,loss\n1,2.5\n"), `begins with "step,loss\n1,2.5`},
		"a page without data":     {[]byte("<html><body>hello</body></html>"), "no snapshot"},
		"JSON of another kind":    {[]byte(`{"traceEvents": []}`), "not a memory snapshot"},
		"damaged JSON":            {[]byte(`{"segments": [}`), "byte 14"},
		"a damaged gzip":          {damaged, "gzip contents"},
		"a pickle that runs code": {[]byte("cos\nsystem\n(S'true'\ntR."), `"os.system"`},
		"packed too often":        {gzipped(t, gzipped(t, gzipped(t, gzipped(t, pickle)))), "more than 3 times"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, test.content)
			var corrupt *snapshots.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("got %v, want a CorruptError", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want it to say %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than a line", err)
			}
		})
	}
}

func TestOpenReturnsTheSystemsErrors(t *testing.T) {
	if _, err := snapshots.Open(t.Context(), filepath.Join(t.TempDir(), "none"), snapshots.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("for a missing file: %v", err)
	}
	if _, err := snapshots.Open(t.Context(), t.TempDir(), snapshots.Options{}); err == nil {
		t.Error("a folder was opened")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := snapshots.Open(ctx, write(t, samplePickle(t)), snapshots.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancelling: %v", err)
	}
}

func TestOpenTellsProgressInBytesOfTheFile(t *testing.T) {
	content := gzipped(t, samplePickle(t))
	var last, total int64
	_, err := snapshots.Open(t.Context(), write(t, content), snapshots.Options{
		Progress: func(read, all int64) {
			if read < last {
				t.Errorf("progress went back from %d to %d", last, read)
			}
			last, total = read, all
		},
	})
	fatal.If(t, err)
	if last != int64(len(content)) || total != int64(len(content)) {
		t.Errorf("it ended at %d of %d, want %d of as many", last, total, len(content))
	}
}

func TestOpenBoundsWhatACompressedBombCanTake(t *testing.T) {
	// 64 MiB of None, one after the other, in a few KiB.
	bomb := append([]byte("\x80\x04]("), bytes.Repeat([]byte("N"), 64<<20)...)
	path := write(t, gzipped(t, bomb))
	_, err := snapshots.Open(t.Context(), path, snapshots.Options{MaxMemory: 16 << 20})
	var corrupt *snapshots.CorruptError
	if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "--max-memory") {
		t.Errorf("got %v, want a refusal that names --max-memory", err)
	}
}
