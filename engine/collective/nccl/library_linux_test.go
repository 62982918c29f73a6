package nccl

import (
	"encoding/binary"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// stub compiles testdata/stub.c, has it found, and returns its file. edit changes its
// source.
func stub(t *testing.T, edit func(source string) string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to make a library with: ", err)
	}
	source := fatal.Read(t, "testdata/stub.c")
	dir := t.TempDir()
	file := filepath.Join(dir, "libnccl.so.2")
	c := exec.Command(cc, "-shared", "-fPIC", "-w", "-xc", "-", "-o", file)
	c.Stdin = strings.NewReader(edit(string(source)))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("MEMTOP_CUDA_LIB_DIR", dir)
	return file
}

func asItIs(source string) string { return source }

// alone is a group of the stub, which is of one process that is said to be one of more.
func alone(t *testing.T, size int) (*group, Library, error) {
	t.Helper()
	l, err := load()
	if err != nil {
		return nil, nil, err
	}
	d, err := cuda.Open(cuda.Options{Driver: cudatest.New(cudatest.Options{})})
	fatal.If(t, err)
	t.Cleanup(func() { _ = d.Close() })
	g := newGroup(l, &Options{Device: d, Size: size})
	if err := d.Bind(func() error { return g.meet(func([]byte) error { return nil }) }); err != nil {
		return nil, nil, err
	}
	g.beside, err = d.OpenBeside()
	return g, l, err
}

func TestArgumentsArriveAsTheLibraryDeclaresThem(t *testing.T) {
	file := stub(t, asItIs)
	g, l, err := alone(t, 3)
	fatal.If(t, err)
	a := device.Array{Addr: 0x7f0000001000, Len: 6, DType: device.BFloat16}
	part := device.Array{Addr: 0x7f0000002000, Len: 2, DType: device.BFloat16}
	for _, p := range []collective.Pending{
		g.AllReduce(a), g.AllReduce(device.Array{Addr: 0x7f0000003000, Len: 5_000_000_000, DType: device.Float32}),
		g.ReduceScatter(part, a), g.AllGather(a, part), g.Broadcast(a, 2),
	} {
		fatal.If(t, p.Wait())
	}
	if err := g.reported(); err == nil || !strings.Contains(err.Error(), "NCCL: another error (6)") {
		t.Errorf("it reports %v", err)
	}
	for _, s := range []Symbol{CommAbort, CommFinalize, CommDestroy} {
		if r := l.Call(s, g.written.comm); r != Success {
			t.Errorf("%v: %v", s, r)
		}
	}
	want := []string{
		"init 0 of 3",
		"all-reduce 0x7f0000001000 0x7f0000001000 6 9 0 0x1234567890 STREAM",
		"all-reduce 0x7f0000003000 0x7f0000003000 5000000000 7 0 0x1234567890 STREAM",
		"reduce-scatter 0x7f0000001000 0x7f0000002000 2 9 0 0x1234567890 STREAM",
		"all-gather 0x7f0000002000 0x7f0000001000 4 1 0x1234567890 STREAM",
		"broadcast 0x7f0000001000 0x7f0000001000 12 1 2 0x1234567890 STREAM",
		"async 0x1234567890", "abort 0x1234567890", "finalize 0x1234567890", "destroy 0x1234567890", "",
	}
	equal.Values(t, "it was called otherwise", want, recorded(t, file))
}

// recorded returns what the stub has written down, a line a call. The stream of all
// operations is one, and has no fixed name.
func recorded(t *testing.T, file string) []string {
	t.Helper()
	handle, err := purego.Dlopen(file, purego.RTLD_NOW)
	fatal.If(t, err)
	var calls func() string
	purego.RegisterLibFunc(&calls, handle, "stubCalls")
	lines := strings.Split(calls(), "\n")
	words := strings.Fields(lines[1])
	stream := words[len(words)-1]
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], stream, "STREAM")
	}
	return lines
}

func TestAMeetingThatFailsSaysWhyInOneLine(t *testing.T) {
	stub(t, asItIs)
	const want = "ncclCommInitRank: invalid usage (5): Duplicate GPU detected : rank 0 and rank 1"
	if _, _, err := alone(t, 5); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestALibraryThatLacksAFunctionIsRefused(t *testing.T) {
	file := stub(t, func(source string) string { return strings.ReplaceAll(source, "ncclCommFinalize", "ncclOther") })
	// The search comes to the stub first, and may come to a whole library of this machine's.
	_, err := first(func(yield func(cuda.Found) bool) {
		for f := range cuda.Libraries(names, symbolNames[:]) {
			yield(f)
			return
		}
	})
	var none *collective.UnavailableError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "ncclCommFinalize") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want that %s has no ncclCommFinalize", err, file)
	}
}

func TestNoLibraryIsOneLineWithItsRemedy(t *testing.T) {
	_, err := first(func(func(cuda.Found) bool) {})
	const want = "the processes of this run cannot meet: no NCCL library is found (libnccl.so.2 is nowhere); install libnccl2, or activate"
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestTheLibraryOfThisMachine binds the real one, where there is one. A library that only
// has its name, such as a stub to build with, says nothing of how results are numbered.
func TestTheLibraryOfThisMachine(t *testing.T) {
	l, err := load()
	if err != nil {
		t.Skip(err)
	}
	if text := l.ErrorString(Success); text != "no error" {
		t.Skipf("the libnccl of this machine is not NVIDIA's: success is %q", text)
	}
	if text := l.ErrorString(RemoteError); !strings.Contains(text, "remote process") {
		t.Errorf("result %d means %q", RemoteError, text)
	}
}

// silent is a library that has nothing to report.
type silent struct{ Library }

func (silent) Call(Symbol, ...uintptr) Result { return Success }

// ofProcess is the identity of another process of this machine.
func ofProcess(pid int) []byte {
	return binary.LittleEndian.AppendUint64(identity()[:machineBytes], uint64(pid))
}

// TestAProcessThatHasEndedIsLostUnlessAllAreLeaving has rank 2 of three end.
func TestAProcessThatHasEndedIsLostUnlessAllAreLeaving(t *testing.T) {
	c := exec.CommandContext(t.Context(), "cat")
	in, err := c.StdinPipe()
	fatal.If(t, err)
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _, _ = in.Close(), c.Wait() }() // it ends when it has read all
	g := &group{library: silent{}}
	elsewhere := append(make([]byte, machineBytes), ofProcess(c.Process.Pid)[machineBytes:]...) // the same number on another machine
	all := slices.Concat(identity(), elsewhere, ofProcess(c.Process.Pid))
	g.watch.peers.open(all, 0)
	defer g.watch.peers.close()
	list := g.watch.peers.list
	if len(list) == 0 {
		t.Skip("this kernel has no file descriptors of processes")
	}
	if len(list) > 1 {
		t.Fatal("a process of another machine is watched")
	}
	if err := g.missing(); err != nil {
		t.Fatalf("all run, and %v", err)
	}
	fatal.If(t, in.Close())
	if _, err := unix.Poll(list, -1); err != nil {
		t.Fatal(err)
	}
	g.leaving.Store(true)
	if err := g.missing(); err != nil {
		t.Errorf("all are leaving, and %v", err)
	}
	g.leaving.Store(false)
	var lost *collective.LostError
	if err := g.missing(); !errors.As(err, &lost) || lost.Rank != 2 || lost.PID != c.Process.Pid {
		t.Errorf("got %v, want that rank 2, process %d, has ended", err, c.Process.Pid)
	}
	g.leaving.Store(true)
	g.watch.since = g.watch.since.Add(-2 * leaveTime)
	if g.missing() == nil {
		t.Error("it is waited for those that leave for ever")
	}
}
