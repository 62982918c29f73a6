package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		wantAlone(t, path, c.Process.Pid)
		<-time.After(rand.N(2 * time.Since(began)))
		_ = c.Process.Kill() // and what it leaves goes with the next write
		_ = c.Wait()
		wantWhole(t, path)
	}
	fatal.If(t, (File{Path: path, Overwrite: true}).Write(saying("")))
	wantAlone(t, path, 0)
}

// wantAlone fails if there is a file beside a file that is not of a process which writes.
func wantAlone(t *testing.T, path string, writes int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	fatal.If(t, err)
	for _, e := range entries {
		if e.Name() != filepath.Base(path) && !strings.Contains(e.Name(), fmt.Sprintf("memtop-%d-", writes)) {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func wantWhole(t *testing.T, path string) {
	t.Helper()
	content := fatal.Read(t, path)
	if len(content) != size || bytes.Count(content, content[:1]) != size {
		t.Errorf("the file has %d bytes, or a mixture of them", len(content))
	}
}
