package callers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/callers"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/engine/device/cuda/prebuilt"
)

// # Tests in a process that is watched
//
// The library watches the process that it is loaded into. So each of these tests
// starts the test program once more, on an imitated GPU and watched, as `memtop run`
// starts a program. There it takes memory through libraries that it has compiled.

const mebibyte = 1 << 20

// takersVariable names the folder with the libraries that take memory.
const takersVariable = "MEMTOP_TEST_TAKERS"

// takersFolder has the libraries, once a test has compiled them.
var takersFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(takersFolder) // of "" it does nothing
	os.Exit(code)
}

func compiledOnce(t *testing.T, compiler string) string {
	t.Helper()
	if takersFolder != "" {
		return takersFolder
	}
	folder, err := os.MkdirTemp("", "takers")
	fatal.If(t, err)
	takersFolder = folder
	for name, source := range map[string]string{"libfirst.so": "taker", "libsecond.so": "taker", "libopener.so": "opener"} {
		cmd := exec.CommandContext(t.Context(), compiler, "-O1", "-shared", "-fPIC", "-o", filepath.Join(folder, name), "testdata/"+source+".c", "-ldl") //nolint:gosec // the user's compiler
		if printed, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
	}
	return folder
}

func watched(t *testing.T) (inside bool) {
	t.Helper()
	if os.Getenv(takersVariable) != "" {
		runtime.LockOSThread() // the current device is a thread's
		return true
	}
	gpu, err := imitation.Library.For(runtime.GOARCH)
	compiler, missing := exec.LookPath("cc")
	if gpu == nil || missing != nil {
		t.Skipf("there is no GPU to imitate, or no compiler: %v, %v", err, missing)
	}
	takers, libraries := compiledOnce(t, compiler), t.TempDir()
	fatal.If(t, imitation.Install(filepath.Join(libraries, "imitation")))
	folder, err := callers.Install(libraries)
	fatal.If(t, err)
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$") //nolint:gosec // it is this program
	again.Env = callers.Environment(imitation.Environment(os.Environ(), filepath.Join(libraries, "imitation")), folder)
	again.Env = prebuilt.Prepend(again.Env, "LD_LIBRARY_PATH", takers)
	again.Env = append(again.Env, takersVariable+"="+takers, imitation.GPUVariable+"=total=17179869184;context=67108864;devices=2")
	printed, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "--- PASS: "+t.Name()) {
		t.Fatalf("watched: %v\n%s", err, printed)
	}
	t.Logf("%s", printed)
	return false
}

// A way to take memory, as testdata/taker.c numbers them.
type way int32

const (
	linked way = iota
	lookedUp
	fromAPool
	created
	managed
	rows
	pinned
	opened
	registered
)

// allocating are the ways before this one: they take memory at an address of their own.
const allocating = opened

// taker is one of the libraries.
type taker struct {
	take func(way, *uintptr, uint64) int32
	give func(way, uintptr, uint64) int32
}

func load(t *testing.T, name string) (l taker) {
	t.Helper()
	handle, err := purego.Dlopen(filepath.Join(os.Getenv(takersVariable), name), purego.RTLD_NOW)
	fatal.If(t, err)
	purego.RegisterLibFunc(&l.take, handle, "taker_take")
	purego.RegisterLibFunc(&l.give, handle, "taker_give")
	return l
}

// held is memory that was taken.
type held struct {
	by   taker
	way  way
	at   uintptr
	size uint64
}

func (l taker) takes(t *testing.T, w way, size uint64) held {
	t.Helper()
	h := held{l, w, 1 << 40, size} // what is registered is at some address
	if status := l.take(w, &h.at, size); status != 0 {
		t.Errorf("taking %d bytes in way %d: %d", size, w, status)
	}
	return h
}

func (h held) isGivenBy(t *testing.T, l taker) {
	t.Helper()
	if status := l.give(h.way, h.at, h.size); status != 0 {
		t.Errorf("giving back what was taken in way %d: %d", h.way, status)
	}
}

// The kinds of memory, as library/callers.h numbers them.
var kinds = []string{"device", "pool", "created", "managed", "imported", "pinned"}

// row is as library/sum.c has it.
type row struct {
	caller                          uintptr
	device, kind                    int32
	bytes, inside, rounding, number uint64
}

// taken returns what the library has noted: bytes by file and kind. Of the bytes in
// the segments, which are addresses and sizes, there are entries of their own.
func taken(t *testing.T, segments ...uint64) map[string]uint64 {
	t.Helper()
	var sum func(*uint64, uint64, *row, uint64) uint64
	purego.RegisterLibFunc(&sum, purego.RTLD_DEFAULT, "memtop_callers")
	var list [256]row
	n := sum(unsafe.SliceData(segments), uint64(len(segments)/2), &list[0], uint64(len(list)))
	found := make(map[string]uint64)
	for _, r := range list[:n] {
		name := fileOf(t, r.caller) + " " + kinds[r.kind]
		found[name] += r.bytes
		if r.inside > 0 {
			found[name+" inside"] += r.inside
		}
	}
	return found
}

// fileOf returns the name of the file whose code is at an address.
func fileOf(t *testing.T, address uintptr) string {
	t.Helper()
	maps := fatal.Read(t, "/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		from, to, _ := strings.Cut(fields[0], "-")
		begin, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		if uint64(address) >= begin && uint64(address) < end {
			return filepath.Base(fields[len(fields)-1])
		}
	}
	return fmt.Sprintf("%#x", address)
}

// used returns how many bytes of the device the driver says are in use.
func used(t *testing.T) uint64 {
	t.Helper()
	var ask func(*uint64, *uint64) int32
	purego.RegisterLibFunc(&ask, purego.RTLD_DEFAULT, "cudaMemGetInfo")
	var left, total uint64
	if status := ask(&left, &total); status != 0 {
		t.Fatal(status)
	}
	return total - left
}

func TestWhatIsTakenIsKnownByLibraryToTheByte(t *testing.T) {
	if !watched(t) {
		return
	}
	first, second := load(t, "libfirst.so"), load(t, "libsecond.so")
	var all []held
	for w := range allocating {
		size := uint64(10+2*w) * mebibyte
		all = append(all, first.takes(t, w, size), second.takes(t, w, size+2*mebibyte))
	}
	all = append(all, first.takes(t, registered, 5))
	want := make(map[string]uint64)
	for w, kind := range map[way]string{linked: "device", lookedUp: "device", rows: "device", fromAPool: "pool", created: "created", managed: "managed", pinned: "pinned"} {
		want["libfirst.so "+kind] += uint64(10+2*w) * mebibyte
		want["libsecond.so "+kind] += uint64(12+2*w) * mebibyte
	}
	want["libfirst.so pinned"] += 5
	equal.Values(t, "by library", want, taken(t))
	checkSum(t, want)
	for _, h := range all {
		h.isGivenBy(t, second) // whoever gives it back
	}
	if left := taken(t); len(left) != 0 {
		t.Errorf("after all was given back there is %v", left)
	}
}

// checkSum checks that the driver's figure is the sum of what libraries took on the
// device, and of the context. The pool has chunks of 32 MiB.
func checkSum(t *testing.T, by map[string]uint64) {
	t.Helper()
	sum, pool := uint64(64*mebibyte), uint64(0)
	for name, bytes := range by {
		switch {
		case strings.HasSuffix(name, "pool"):
			pool += bytes
		case !strings.HasSuffix(name, "pinned"):
			sum += bytes
		}
	}
	if got := used(t); got != sum+(pool+32*mebibyte-1)/(32*mebibyte)*(32*mebibyte) {
		t.Errorf("%d bytes are in use, and libraries took %d", got, sum)
	}
}

func TestMemoryIsHeldUntilItIsNeitherMappedNorHeld(t *testing.T) {
	if !watched(t) {
		return
	}
	first := load(t, "libfirst.so")
	a, b := first.takes(t, created, 4*mebibyte), first.takes(t, created, 6*mebibyte)
	want := map[string]uint64{"libfirst.so created": 10 * mebibyte, "libfirst.so created inside": 6 * mebibyte}
	equal.Values(t, "the result", want, taken(t, uint64(b.at), 6*mebibyte))
	if b.at != a.at+4*mebibyte {
		t.Fatalf("the second is at %#x, the first at %#x", b.at, a.at)
	}
	held{first, created, a.at, 10 * mebibyte}.isGivenBy(t, first) // both in one call
	if left := taken(t); len(left) != 0 {
		t.Errorf("there is %v", left)
	}
}

// TestMemoryOfOthersIsThatOfItsRange opens memory by a handle in the middle of a
// range: the driver says how large the range is.
func TestMemoryOfOthersIsThatOfItsRange(t *testing.T) {
	if !watched(t) {
		return
	}
	first, second := load(t, "libfirst.so"), load(t, "libsecond.so")
	theirs := first.takes(t, linked, 8*mebibyte)
	h := held{second, opened, theirs.at + 2*mebibyte, 8 * mebibyte}
	if status := second.take(opened, &h.at, 0); status != 0 || h.at != theirs.at+2*mebibyte {
		t.Errorf("opening it: %d, at %#x", status, h.at)
	}
	want := map[string]uint64{"libfirst.so device": 8 * mebibyte, "libsecond.so imported": 8 * mebibyte}
	equal.Values(t, "the result", want, taken(t))
	h.isGivenBy(t, first)
	delete(want, "libsecond.so imported")
	equal.Values(t, "the result", want, taken(t))
}

func TestWhatFailsIsNotNoted(t *testing.T) {
	if !watched(t) {
		return
	}
	first := load(t, "libfirst.so")
	var at uintptr
	if status := first.take(linked, &at, 1<<40); status == 0 {
		t.Error("there was room for a tebibyte")
	}
	h := first.takes(t, linked, 2*mebibyte)
	if status := first.give(linked, h.at+1, 0); status == 0 {
		t.Error("an address in the middle was given back")
	}
	equal.Values(t, "the result", map[string]uint64{"libfirst.so device": 2 * mebibyte}, taken(t))
}

func TestThreadsTakeAtOnce(t *testing.T) {
	if !watched(t) {
		return
	}
	first, second := load(t, "libfirst.so"), load(t, "libsecond.so")
	var done sync.WaitGroup
	for i, l := range []taker{first, second, first, second} {
		done.Go(func() {
			kept := l.takes(t, linked, uint64(2+2*i)*mebibyte)
			for range 3000 {
				l.takes(t, lookedUp, 2*mebibyte).isGivenBy(t, l)
			}
			if i >= 2 {
				kept.isGivenBy(t, l)
			}
		})
	}
	done.Wait()
	want := map[string]uint64{"libfirst.so device": 2 * mebibyte, "libsecond.so device": 4 * mebibyte}
	equal.Values(t, "the result", want, taken(t))
}

// TestATableThatIsFullLosesWithoutFailing registers more than there is room for.
func TestATableThatIsFullLosesWithoutFailing(t *testing.T) {
	if !watched(t) {
		return
	}
	first := load(t, "libfirst.so")
	state, err := purego.Dlsym(purego.RTLD_DEFAULT, "memtop_callers_state")
	fatal.If(t, err)
	lost := func() uint64 { return **(**uint64)(unsafe.Pointer(&state)) }
	const many = 70_000
	for i := range uintptr(many) {
		at := 1<<40 + i*4096
		if status := first.take(registered, &at, 4096); status != 0 {
			t.Fatalf("call %d failed: %d", i, status)
		}
	}
	if got := taken(t)["libfirst.so pinned"]/4096 + lost(); got != many || lost() == 0 {
		t.Errorf("%d of %d are known or counted as lost, %d of them lost", got, many, lost())
	}
	for i := range uintptr(many) {
		if status := first.give(registered, 1<<40+(many-1-i)*4096, 4096); status != 0 {
			t.Fatalf("giving back %d failed: %d", i, status)
		}
	}
	if left := taken(t); len(left) != 0 {
		t.Errorf("after all was given back there is %v", left)
	}
}
