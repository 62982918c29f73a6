package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// peakVariable names the file that measured writes to.
const peakVariable = "MEMTOP_TEST_PEAK"

// measured is main, and writes the most memory that was ever resident where the
// environment says. What the kernel counts of a child when it has ended would not
// do: it begins with the memory of the test's own process.
func measured() {
	path := os.Getenv(peakVariable)
	if path == "" {
		main()
	}
	code := run(os.Args[1:], os.Stdout, os.Stderr)
	status, err := os.ReadFile("/proc/self/status")
	if err := errors.Join(err, os.WriteFile(path, status, 0o600)); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// resident runs memtop and returns the most memory that it ever took in bytes,
// its exit code and what it said.
func resident(t *testing.T, args ...string) (peak int64, code int, said string) {
	t.Helper()
	program, err := os.Executable()
	fatal.If(t, err)
	path := filepath.Join(t.TempDir(), "status")
	memtop := exec.CommandContext(t.Context(), program, args...)
	memtop.Args[0] = "memtop"
	memtop.Env = append(os.Environ(), peakVariable+"="+path)
	var stderr bytes.Buffer
	memtop.Stderr = &stderr
	_ = memtop.Run() // its exit code says more
	status, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("memtop died: %v, %.2000s", err, stderr.String())
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &peak); err != nil {
		t.Fatal(err)
	}
	return peak << 10, memtop.ProcessState.ExitCode(), stderr.String()
}

// TestBombsStayWithinTheBound opens contents that ask for much memory with few
// bytes. Whatever becomes of them, no more than 1.2 times the bound is ever
// resident, and who is refused is told the bound in one line.
func TestBombsStayWithinTheBound(t *testing.T) {
	t.Parallel()
	if build, _ := debug.ReadBuildInfo(); slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own for every byte of ours")
	}
	long := os.Getenv("MEMTOP_LONG") != ""
	for i, name := range slices.Sorted(maps.Keys(bombs)) {
		content := bombs[name]()
		path := fatal.Write(t, "bomb", packed(t, content, i))
		for _, option := range []string{"", "64MiB"} {
			t.Run(name+"/"+option, func(t *testing.T) {
				if name == "texts" && option == "" && !long {
					t.Skip("they stay far below the bound, and are read to their end: MEMTOP_LONG=1 lets it")
				}
				bounded(t, path, option, content)
			})
		}
	}
}

func bounded(t *testing.T, path, option string, content []byte) {
	t.Helper()
	bound, args := trace.DefaultBound.After(int64(len(content))), []string{"report", path}
	if wire.IsHeader(content) {
		bound = wire.DefaultBound.After(int64(len(content)))
	}
	if option != "" {
		bound, args = 64<<20, append(args, "--max-memory", option)
	}
	began := time.Now()
	peak, code, said := resident(t, args...)
	t.Logf("%4d MiB of %4d, %v, exit %d, %.120s", peak>>20, bound>>20, time.Since(began).Round(time.Millisecond), code, said)
	if peak > bound*6/5 {
		t.Errorf("%d MiB were resident, more than 1.2 × %d", peak>>20, bound>>20)
	}
	if code != command.ExitOK && (code != command.ExitCorrupt || strings.Count(said, "\n") != 1) {
		t.Errorf("exit code %d, standard error %q", code, said)
	}
	if allowed := strings.Index(said, "allowed "); allowed > 0 {
		mebibytes, _, _ := strings.Cut(said[allowed+len("allowed "):], " ")
		if n, err := strconv.ParseInt(mebibytes, 10, 64); err != nil || n > bound>>20 || !strings.Contains(said, "--max-memory") {
			t.Errorf("it says %q of a bound of at most %d MiB", said, bound>>20)
		}
	}
}

// packed returns content under gzip, zstd or as it is, in turn.
func packed(t testing.TB, content []byte, i int) []byte {
	t.Helper()
	if i%3 == 2 {
		return content
	}
	if i%3 == 1 {
		w, err := zstd.NewWriter(nil)
		fatal.If(t, err)
		return w.EncodeAll(content, nil)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	fatal.If(t, err)
	_, err = w.Write(content)
	fatal.If(t, err, w.Close())
	return b.Bytes()
}
