//go:build linux

package hostledger

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

const mib = 1 << 20

// holding is what a process of the tests holds: bytes of memory, and files by their paths.
const holding = "MEMTOP_TEST_HOLDS"

func TestMain(m *testing.M) {
	if what := os.Getenv(holding); what != "" {
		hold(what)
		return
	}
	os.Exit(m.Run())
}

// hold holds memory, or a file, until the input ends.
func hold(what string) {
	var kept []byte
	if size, err := strconv.Atoi(what); err == nil {
		kept = bytes.Repeat([]byte("x"), size)
	} else {
		kept, _ = mapFile(what)
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	fmt.Println(len(kept))
}

// holder starts a process that holds something. It ends with the test, or when it is told to.
func holder(t *testing.T, what string) (pid int, end func()) {
	t.Helper()
	job := exec.CommandContext(t.Context(), "/proc/self/exe")
	job.Env = append(os.Environ(), holding+"="+what)
	input, err := job.StdinPipe()
	fatal.If(t, err)
	output, err := job.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, job.Start())
	end = func() { _ = input.Close(); _ = job.Wait() }
	t.Cleanup(end)
	if !bufio.NewScanner(output).Scan() {
		t.Fatal("it ended")
	}
	return job.Process.Pid, end
}

func mapFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays
	return unix.Mmap(int(f.Fd()), 0, 4*mib, unix.PROT_READ, unix.MAP_SHARED)
}

// measured returns what a ledger says now.
func measured(t *testing.T, l *Ledger, forked ...int) *trace.Host {
	t.Helper()
	l.walk, l.files.next = time.Time{}, time.Time{}
	g := trace.Gauge{Host: &trace.Host{Step: 7}}
	if !l.Measure(&g, forked) {
		t.Fatal("nothing is known of the process")
	}
	for l.walking != nil { // the walk takes longer than a gauge waits
		time.Sleep(time.Millisecond)
		l.follow(nil, false)
	}
	return g.Host
}

func TestAGaugeHasWhatTheKernelSays(t *testing.T) {
	g := trace.Gauge{Device: -1, Host: &trace.Host{Step: 7, Malloc: 5}}
	if !New(os.Getpid(), time.Now()).Measure(&g, nil) {
		t.Fatal("nothing is known of this process")
	}
	own, _ := statusOf(os.Getpid())
	if g.Process < own.resident/2 || g.Used < g.Process || g.Total <= g.Used || g.Others != g.Used-g.Process {
		t.Errorf("%d of %d bytes are used, %d by this process and %d by others", g.Used, g.Total, g.Process, g.Others)
	}
	h := g.Host
	if h.Malloc != 5 || h.Anonymous < own.anonymous/2 || h.Writable < h.Anonymous || h.Listed != 7 {
		t.Errorf("got %+v", h)
	}
	if h.Group > 0 && h.GroupAnonymous < h.Anonymous {
		t.Errorf("its group has %d bytes of anonymous memory, it has %d", h.GroupAnonymous, h.Anonymous)
	}
	if New(1<<30, time.Now()).Measure(&g, nil) {
		t.Error("a process that never was is measured")
	}
}

func TestMemoryIsWritableBeforeItIsTouched(t *testing.T) {
	before, _ := statusOf(os.Getpid())
	mapped, err := unix.Mmap(-1, 0, 64*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	fatal.If(t, err)
	after, _ := statusOf(os.Getpid())
	fatal.If(t, unix.Munmap(mapped))
	if after.writable-before.writable < 64*mib || after.anonymous-before.anonymous > 32*mib {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestAWorkerCountsWithWhatItDoesNotShare(t *testing.T) {
	l := New(os.Getpid(), time.Now())
	pid, end := holder(t, strconv.Itoa(64*mib))
	measured(t, l)
	h := measured(t, l)
	if h.GroupOthers == 0 && h.Group > 0 {
		t.Skip("the group has nobody else, so its sums say it")
	}
	if h.Workers != 1 || h.Worker != pid || h.WorkerAnonymous < 64*mib {
		t.Errorf("got %d workers, process %d has %d bytes, want %d with 64 MiB", h.Workers, h.Worker, h.WorkerAnonymous, pid)
	}
	if h.WorkersAnonymous < 64*mib || h.WorkersAnonymous > 128*mib {
		t.Errorf("the workers have %d bytes, want 64 MiB", h.WorkersAnonymous)
	}
	end()
	if h := measured(t, l); h.Workers != 0 || h.WorkersAnonymous != 0 {
		t.Errorf("it has ended, and there are %d workers with %d bytes", h.Workers, h.WorkersAnonymous)
	}
}

func TestWhatAWorkerHasGotSinceItsPageTablesWereReadIsItsOwn(t *testing.T) {
	l := New(1, time.Now())
	l.shares = shares{memory{anonymous: 5 * mib}, map[int]int64{os.Getpid(): 1}}
	own, _ := statusOf(os.Getpid())
	h := &trace.Host{}
	l.ofWorkers(h, []int{os.Getpid(), 1 << 30})
	if got := h.WorkersAnonymous - own.anonymous; got < 4*mib || got > 16*mib || h.Workers != 1 {
		t.Errorf("%d workers have %d bytes more than it had before, want about 5 MiB", h.Workers, got)
	}
}

func TestPageTablesAreWalkedAsOftenAsTheLastWalkAllows(t *testing.T) {
	for cost, pause := range map[time.Duration]time.Duration{time.Millisecond: walkEvery, time.Minute: share * time.Minute} {
		l := New(os.Getpid(), time.Now())
		l.take(&walked{cost: cost})
		if got := time.Until(l.walk); got > pause || got < pause-time.Second/2 {
			t.Errorf("after a walk of %v the next one may begin in %v, want %v", cost, got, pause)
		}
	}
}

// shm makes a file of 4 MiB in shared memory.
func shm(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(sharedFolder, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Skip("no shared memory here: ", err)
	}
	t.Cleanup(func() { _ = f.Close(); _ = os.Remove(f.Name()) })
	_, err = f.Write(make([]byte, 4*mib))
	fatal.If(t, err)
	return f
}

func TestAFileThatTheProgramHasIsItsSharedMemoryAndThenLeft(t *testing.T) {
	l := New(os.Getpid(), time.Now())
	before := measured(t, l)
	f := shm(t, "memtop-test-open")
	check := func(when string, shared, left int64) {
		t.Helper()
		h := measured(t, l)
		if h.SharedFiles-before.SharedFiles != shared*mib || h.Left != left*mib {
			t.Errorf("%s: %d bytes are shared, %d left; want %d and %d MiB", when, h.SharedFiles-before.SharedFiles, h.Left, shared, left)
		}
		if left > 0 && (h.LeftName != filepath.Base(f.Name()) || h.LeftFiles != 1) {
			t.Errorf("%s: %d files are left, such as %q", when, h.LeftFiles, h.LeftName)
		}
		if shared > 0 && h.SharedName != filepath.Base(f.Name()) {
			t.Errorf("%s: most is in %q", when, h.SharedName)
		}
	}
	check("open, not mapped", 4, 0)
	mapped, err := mapFile(f.Name())
	fatal.If(t, err)
	_ = f.Close()
	check("mapped, not touched", 4, 0)
	fatal.If(t, unix.Munmap(mapped))
	check("neither", 0, 4)
	fatal.If(t, os.Remove(f.Name()))
	check("deleted", 0, 0)
}

func TestFilesOfTheProgramAreToldFromThoseOfOthers(t *testing.T) {
	pid, _ := holder(t, "1")
	l := New(pid, time.Now())
	for _, name := range []string{fmt.Sprintf("memtop-test-0-%d", pid), fmt.Sprintf("memtop-test-x%d", pid), "memtop-test-none"} {
		_ = shm(t, name).Close()
	}
	if h := measured(t, l); h.Left+h.SharedFiles > 0 {
		t.Errorf("files of others are the program's: %+v", h)
	}
	_ = shm(t, fmt.Sprintf("torch_%d_1804289383_0", pid)).Close()
	_ = shm(t, "memtop-test-1073741824").Close()
	if h := measured(t, l); h.Left != 4*mib || h.LeftFiles != 1 {
		t.Errorf("%d bytes are left in %d files, want one of 4 MiB", h.Left, h.LeftFiles)
	}
	if h := measured(t, l, 1<<30); h.Left != 8*mib {
		t.Errorf("with that of a child that has ended, %d bytes are left", h.Left)
	}
	late := New(pid, time.Now().Add(time.Hour))
	if h := measured(t, late); h.Left != 0 {
		t.Errorf("%d bytes are left of what was there before the program", h.Left)
	}
}

func TestWhatAnotherProgramHasMappedIsNotLeft(t *testing.T) {
	pid, _ := holder(t, "1")
	l := New(pid, time.Now())
	f := shm(t, fmt.Sprintf("memtop-test-%d", pid))
	_ = f.Close()
	measured(t, l)
	if h := measured(t, l); h.Left != 4*mib {
		t.Errorf("%d bytes are left, want 4 MiB", h.Left)
	}
	mapped, err := mapFile(f.Name())
	fatal.If(t, err)
	defer func() { _ = unix.Munmap(mapped) }()
	measured(t, l) // who has it is asked
	if h := measured(t, l); h.Left != 0 {
		t.Errorf("%d bytes are left, and this process has mapped them", h.Left)
	}
}

func TestWhatProcessesHandEachOtherIsFoundWhileItIsOpen(t *testing.T) {
	own, worker := New(os.Getpid(), time.Now()), newFiles(1<<30, time.Now())
	f := shm(t, "memtop-test-batch")
	again := f.Name() + "-again"
	fatal.If(t, os.Link(f.Name(), again))
	fatal.If(t, os.Remove(f.Name()))
	if h := measured(t, own); h.Taken != 0 || h.SharedFiles < 4*mib || worker.read([]int{os.Getpid()}).batches != 0 {
		t.Errorf("it has a name, and %d bytes of %d are a batch", h.Taken, h.SharedFiles)
	}
	fatal.If(t, os.Remove(again))
	if h := measured(t, own); h.Taken != 4*mib || h.Batches != 0 || h.SharedFiles < 4*mib {
		t.Errorf("%d bytes are taken and %d ready, of %d", h.Taken, h.Batches, h.SharedFiles)
	}
	if l := worker.read([]int{os.Getpid()}); l.batches != 4*mib || l.taken != 0 || l.shared != 0 {
		t.Errorf("%d bytes are ready, %d taken and %d shared, want 4 MiB ready", l.batches, l.taken, l.shared)
	}
}

func TestAsManyProcessesAreRememberedAsAreEnough(t *testing.T) {
	f := newFiles(1, time.Now())
	for pid := range 2 * mostProcesses {
		f.remember([]int{pid})
	}
	if len(f.pids) != mostProcesses {
		t.Errorf("%d are remembered, want %d", len(f.pids), mostProcesses)
	}
}
