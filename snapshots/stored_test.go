package snapshots_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/pytorch"
)

// long are files that take several reads, by what they are.
func long(t *testing.T) map[string][]byte {
	t.Helper()
	var pickle, packed bytes.Buffer
	fatal.If(t, pytorch.Write(&pickle, pytorchtest.Random(pytorchtest.Options{Seed: 1, Operations: 40_000})))
	w, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	fatal.If(t, err)
	_, err = w.Write(pickle.Bytes())
	fatal.If(t, err, w.Close())
	return map[string][]byte{"pickle": pickle.Bytes(), "gzip": packed.Bytes(), "mtr": slices.Concat(slices.Repeat([][]byte{recording(t)}, 20)...)}
}

// TestFilesThatChangeWhileTheyAreRead changes real files after the first bytes
// were read of them, which Progress says. Two files of which each is right give
// no third one.
func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	check := func(err error) {
		fatal.If(t, err)
	}
	add := func(path string, content []byte) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		check(err)
		_, err = f.Write(content)
		check(errors.Join(err, f.Close()))
	}
	const changed = "changed while it was read, from"
	changes := map[string]struct {
		change func(path string, content []byte)
		want   map[string]string // by container: the reason, or "" for a file that is read
	}{
		"shrinks": {
			func(path string, content []byte) { check(os.Truncate(path, int64(len(content)*3/4))) },
			map[string]string{"pickle": changed, "gzip": changed, "mtr": changed},
		},
		"shrinks to nothing": {
			func(path string, _ []byte) { check(os.Truncate(path, 0)) },
			map[string]string{"pickle": changed, "gzip": changed, "mtr": changed},
		},
		"is written anew": {
			func(path string, content []byte) { check(os.WriteFile(path, content[:len(content)/2], 0o600)) },
			map[string]string{"pickle": changed, "gzip": changed, "mtr": changed},
		},
		"grows": {
			func(path string, content []byte) { add(path, content) },
			map[string]string{"pickle": changed, "gzip": changed, "mtr": ""},
		},
		"grows by part of a frame": {
			func(path string, content []byte) { add(path, content[:len(content)/3]) },
			map[string]string{"pickle": changed, "gzip": changed, "mtr": ""},
		},
		"vanishes": {
			func(path string, _ []byte) { check(os.Remove(path)) },
			map[string]string{"pickle": "", "gzip": "", "mtr": ""},
		},
		"is replaced": {
			func(path string, content []byte) {
				check(os.WriteFile(path+".new", content[:100], 0o600))
				check(os.Rename(path+".new", path))
			},
			map[string]string{"pickle": "", "gzip": "", "mtr": ""},
		},
	}
	for container, content := range long(t) {
		whole, err := open(t, content)
		check(err)
		for name, test := range changes {
			t.Run(container+" that "+name, func(t *testing.T) {
				path := write(t, content)
				reads := 0
				source, err := snapshots.Open(t.Context(), path, snapshots.Options{Progress: func(read, total int64) {
					if reads++; reads == 1 && read < total {
						test.change(path, content)
					}
				}})
				if want := test.want[container]; want != "" {
					var corrupt *snapshots.CorruptError
					if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), want) || corrupt.Remedy == "" || strings.Contains(err.Error(), "\n") {
						t.Errorf("got %v, want a refusal with %q", err, want)
					}
					return
				}
				fatal.If(t, err)
				if got := source.Trace(); got.Info.Truncated || text(t, got) != text(t, whole) {
					t.Errorf("it is not what it was when it was opened; notices %q", got.Notices)
				}
			})
		}
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	const path = "/proc/self/mem" // nothing is mapped at its begin
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no file here that fails to be read: ", err)
	}
	_, err := snapshots.Open(t.Context(), path, snapshots.Options{})
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names the file", err)
	}
}

// TestStandardInputMayHaveBeenReadFrom has a file as standard input whose first
// bytes another program took.
func TestStandardInputMayHaveBeenReadFrom(t *testing.T) {
	before := "a line before\n"
	f, err := os.Open(write(t, append([]byte(before), samplePickle(t)...)))
	fatal.If(t, err)
	defer f.Close()
	if _, err := f.Seek(int64(len(before)), 0); err != nil {
		t.Fatal(err)
	}
	defer func(old *os.File) { os.Stdin = old }(os.Stdin)
	os.Stdin = f
	if _, err := snapshots.Open(t.Context(), snapshots.StandardInput, snapshots.Options{}); err != nil {
		t.Error(err)
	}
}
