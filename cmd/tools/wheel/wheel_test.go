package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/python"
)

var made = wheel{version: "1.2", tags: "manylinux2014_x86_64.musllinux_1_1_x86_64", when: earliest}

func TestTheSameInputsGiveTheSameWheel(t *testing.T) {
	first, err := made.pack([]byte("program"), python.Package())
	fatal.If(t, err)
	second, err := made.pack([]byte("program"), python.Package())
	fatal.If(t, err)
	if !bytes.Equal(first, second) {
		t.Error("they differ")
	}
}

func TestTheRecordListsEveryFile(t *testing.T) {
	packed, err := made.pack([]byte("program"), python.Package())
	fatal.If(t, err)
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	fatal.If(t, err)
	sizes := make(map[string]string)
	var record string
	for _, f := range archive.File {
		sizes[f.Name] = strconv.FormatUint(f.UncompressedSize64, 10)
		executable := f.Mode().Perm()&0o111 != 0
		if want := strings.HasSuffix(f.Name, ".data/scripts/memtop"); executable != want {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			record = text(t, f)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(record)).ReadAll()
	fatal.If(t, err)
	for _, row := range rows {
		if size := sizes[row[0]]; row[2] != "" && row[2] != size {
			t.Errorf("%s has %s bytes and is recorded with %s", row[0], size, row[2])
		}
		delete(sizes, row[0])
	}
	for name := range sizes {
		t.Errorf("%s is not recorded", name)
	}
}

func TestVersionsAreWrittenAsPythonDoes(t *testing.T) {
	for release, want := range map[string]string{
		"": python.Version(), "1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "0.1.0-alpha": "0.1.0a0", "1.0.0-beta.12": "1.0.0b12",
		"0.1.0-snapshot.440ef0fc": "0.1.0.dev0+440ef0fc", "v1.2.3": "", "1.2": "", "1.2.3-later.1": "", "1.2.3+build": "",
	} {
		got, err := pythonVersion(release)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is written %q (%v), want %q", release, got, err, want)
		}
	}
}

func text(t *testing.T, f *zip.File) string {
	t.Helper()
	r, err := f.Open()
	fatal.If(t, err)
	data, err := io.ReadAll(r)
	fatal.If(t, err)
	return string(data)
}

// TestTheWheelIsInstalled installs bin/memtop's wheel, named by MEMTOP_WHEEL, into an
// environment of its own, without a network: make wheel sets it.
func TestTheWheelIsInstalled(t *testing.T) {
	path := os.Getenv("MEMTOP_WHEEL")
	if path == "" {
		t.Skip("MEMTOP_WHEEL names no wheel; see make wheel")
	}
	folder := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("python3", "-m", "venv", "env")
	bin := filepath.Join(folder, "env", "bin")
	run(filepath.Join(bin, "python"), "-m", "pip", "install", "--no-index", "--no-deps", path)
	if out := run(filepath.Join(bin, "memtop"), "version"); !strings.HasPrefix(out, "memtop ") {
		t.Errorf("memtop version prints %q", out)
	}
	out := run(filepath.Join(bin, "python"), "-c", "import memtop.auto, sys; print(memtop.__version__, 'torch' in sys.modules)")
	if want := python.Version() + " False\n"; out != want {
		t.Errorf("import memtop.auto: got %q, want %q", out, want)
	}
	run(filepath.Join(bin, "python"), "-m", "pip", "uninstall", "-y", "memtop")
	if _, err := os.Stat(filepath.Join(bin, "memtop")); err == nil {
		t.Error("the command stays when it is uninstalled")
	}
}
