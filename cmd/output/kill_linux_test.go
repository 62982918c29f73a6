package output

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/killtest"
)

// size is how many bytes the killed program writes, all of them the same.
const size = 4 << 20

// TestKillingAWriterLeavesAWholeFile runs itself as a program that writes a file
// again and again, and kills it.
func TestKillingAWriterLeavesAWholeFile(t *testing.T) {
	if path := os.Getenv("MEMTOP_TEST_WRITES"); path != "" {
		writeForEver(t, path)
	}
	for name, way := range map[string]string{"without a name": "", "with a name": "yes"} {
		t.Run(name, func(t *testing.T) { killWriters(t, way) })
	}
}

// writeForEver writes a file until it is killed, and says so each time.
func writeForEver(t *testing.T, path string) {
	t.Helper()
	if os.Getenv("MEMTOP_TEST_NAMED") != "" {
		instead(t, func(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported })
	}
	for version := byte(0); ; version++ {
		content := bytes.Repeat([]byte{version}, size/16)
		err := File{Path: path, Overwrite: true}.Write(func(w io.Writer) error {
			for range 16 {
				if _, err := w.Write(content); err != nil {
					return err
				}
			}
			return nil
		})
		fatal.If(t, err)
		if _, err := os.Stdout.Write([]byte{version}); err != nil {
			t.Fatal(err)
		}
	}
}

func killWriters(t *testing.T, named string) {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "out")
	var moments killtest.Moments
	var left killtest.Leftovers
	for range killtest.Times(t) {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKillingAWriterLeavesAWholeFile$")
		c.Env = append(os.Environ(), "MEMTOP_TEST_WRITES="+path, "MEMTOP_TEST_NAMED="+named)
		out, err := c.StdoutPipe()
		fatal.If(t, err)
		fatal.If(t, c.Start())
		began := time.Now()
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it has written once
			t.Fatal(err)
		}
		left.WantGone(t)
		moments.Strike(t, c.Process, folder, 2*time.Since(began))
		_ = c.Wait() // it was killed
		wantWhole(t, path)
		left = moments.Look(t, folder, "out")
	}
	t.Log(moments)
	fatal.If(t, (File{Path: path, Overwrite: true}).Write(saying("")))
	left.WantGone(t)
}

func wantWhole(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	fatal.If(t, err)
	if len(content) != size || bytes.Count(content, content[:1]) != size {
		t.Errorf("the file has %d bytes, or a mixture of them", len(content))
	}
}
