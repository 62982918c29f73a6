package ptx_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// head begins a module whose kernel gets the address of an array of words.
const head = `.version 8.0
.target sm_80
.address_size 64
.visible .entry test(
	.param .b64 test_param_0
)
{
	.shared .align 4 .b8 tile[256];
	.reg .pred %p<9>;
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mul.wide.u32 %rd1, %r1, 4;
	mov.u64 %rd2, tile;
	add.s64 %rd2, %rd2, %rd1;
	ld.param.u64 %rd3, [test_param_0];
	add.s64 %rd4, %rd3, %rd1;
`

// words is the memory of a test.
type words []uint32

// run runs a body with some blocks of threads.
func (w words) run(t *testing.T, body string, blocks, threads uint32, m *ptx.Machine) error {
	t.Helper()
	m.Memory.Add(unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), 4*len(w)), false)
	return w.launch(t, body, blocks, threads, m)
}

// launch is run on memory that was added before.
func (w words) launch(t *testing.T, body string, blocks, threads uint32, m *ptx.Machine) error {
	t.Helper()
	text := head + strings.ReplaceAll(body, ";", ";\n") + "\tret;\n}\n"
	module, err := ptx.Parse(text)
	fatal.If(t, err)
	p, err := module.Link("test")
	fatal.If(t, err)
	args := binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&w[0]))))
	return m.Run(p, ptx.Launch{Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{threads, 1, 1}, Args: args})
}

// What a kernel must not do, and how it is reported.
func TestMistakesAreReported(t *testing.T) {
	tests := map[string]struct {
		body            string
		blocks, threads uint32
		want            string // nothing if there is no mistake
	}{
		"each thread its own word":       {"st.global.u32 [%rd4], %r1;", 1, 64, ""},
		"a word behind the end":          {"st.global.u32 [%rd4+4], %r1;", 1, 64, "is not the device's memory"},
		"words that lie across":          {"ld.global.u32 %r3, [%rd4+2];", 1, 1, "is not a multiple of 4"},
		"two blocks write other words":   {"st.global.u32 [%rd4], %r2;", 2, 64, "races with thread 0 of block 0, which wrote the same"},
		"two blocks write the same":      {"st.global.u32 [%rd4], 7;", 2, 64, ""},
		"all read, one writes":           {"ld.global.u32 %r3, [%rd3]; setp.ne.s32 %p1, %r1, 63; @%p1 bra $L__END; st.global.u32 [%rd3], 1; $L__END: ", 1, 64, "races with"},
		"and a barrier is in between":    {"ld.global.u32 %r3, [%rd3]; bar.sync 0; setp.ne.s32 %p1, %r1, 63; @%p1 bra $L__END; st.global.u32 [%rd3], 1; $L__END: ", 1, 64, ""},
		"shared memory is not written":   {"ld.shared.u32 %r3, [%rd2];", 1, 32, "where nothing was written"},
		"a neighbour's word":             {"st.shared.u32 [%rd2], %r1; xor.b32 %r3, %r1, 1; mul.wide.u32 %rd5, %r3, 4; mov.u64 %rd6, tile; add.s64 %rd6, %rd6, %rd5; ld.shared.u32 %r4, [%rd6];", 1, 32, "races with"},
		"a neighbour's word, in turns":   {"st.shared.u32 [%rd2], %r1; bar.sync 0; xor.b32 %r3, %r1, 1; mul.wide.u32 %rd5, %r3, 4; mov.u64 %rd6, tile; add.s64 %rd6, %rd6, %rd5; ld.shared.u32 %r4, [%rd6];", 1, 32, ""},
		"behind shared memory":           {"st.shared.u32 [%rd2+256], %r1;", 1, 32, "is not in the block's"},
		"half a warp shuffles":           {"setp.lt.u32 %p1, %r1, 16; @%p1 bra $L__END; shfl.sync.bfly.b32 %r3, %r1, 1, 0x1f, 0xffffffff; $L__END: ", 1, 32, "this thread is elsewhere"},
		"half a warp waits":              {"setp.lt.u32 %p1, %r1, 16; @%p1 bra $L__END; bar.sync 0; $L__END: ", 1, 32, "this thread is elsewhere"},
		"two warps at two barriers":      {"setp.lt.u32 %p1, %r1, 32; @%p1 bra $L__A; bar.sync 0; bra.uni $L__END; $L__A: bar.sync 0; $L__END: ", 1, 64, "waits at another barrier"},
		"a loop without an end":          {"$L__A: bra.uni $L__A;", 1, 1, "does not end"},
		"a copy that was not waited for": {"cvt.u32.u64 %r3, %rd2; and.b32 %r3, %r3, -16; cp.async.cg.shared.global [%r3], [%rd3], 16, 16; cp.async.commit_group; ld.shared.u32 %r4, [%rd2];", 1, 1, "races with"},
		"a copy that was":                {"cvt.u32.u64 %r3, %rd2; mov.u32 %r5, 16; cp.async.cg.shared.global [%r3], [%rd3], 16, %r5; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r4, [%rd2];", 1, 1, ""},
		"one publishes, another reads": {`setp.eq.s32 %p1, %r2, 1; @%p1 bra $L__B; st.global.u32 [%rd4+4], 9; bar.sync 0; st.release.gpu.global.u32 [%rd3], 5; bra.uni $L__END;
			$L__B: ld.acquire.gpu.global.u32 %r3, [%rd3]; setp.ne.s32 %p2, %r3, 5; @%p2 bra $L__B; ld.global.u32 %r4, [%rd3+4]; $L__END: `, 2, 1, ""},
		"one stores, another reads": {`setp.eq.s32 %p1, %r2, 1; @%p1 bra $L__B; st.global.u32 [%rd4+4], 9; bar.sync 0; atom.global.add.u32 %r5, [%rd3], 5; bra.uni $L__END;
			$L__B: ld.acquire.gpu.global.u32 %r3, [%rd3]; setp.ne.s32 %p2, %r3, 5; @%p2 bra $L__B; ld.global.u32 %r4, [%rd3+4]; $L__END: `, 2, 1, "races with thread 0 of block 0"},
	}
	for name, test := range tests {
		for _, falling := range []bool{false, true} {
			if falling && strings.Contains(test.want, "of block 0") {
				continue // then it is the other that comes second
			}
			t.Run(name, func(t *testing.T) {
				memory := make(words, 64)
				err := memory.run(t, test.body, test.blocks, test.threads, &ptx.Machine{Falling: falling, Most: 1 << 16})
				switch {
				case err == nil && test.want != "":
					t.Errorf("nothing is reported, want %q", test.want)
				case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
					t.Errorf("got %v, want %q", err, test.want)
				}
			})
		}
	}
}

func TestFreshAndFreedMemoryIsReported(t *testing.T) {
	memory := make(words, 64)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), 256)
	m := &ptx.Machine{}
	again := func(body string) error {
		m.Memory.Add(bytes, true)
		return memory.launch(t, body, 1, 1, m)
	}
	if err := again("ld.global.u32 %r3, [%rd3];"); err == nil || !strings.Contains(err.Error(), "where nothing was written") {
		t.Errorf("got %v for memory that is fresh", err)
	}
	if err := again("st.global.u32 [%rd3], 1; ld.global.u32 %r3, [%rd3];"); err != nil {
		t.Error(err)
	}
	m.Memory.Remove(uint64(uintptr(unsafe.Pointer(&memory[0]))), 256)
	if a := m.Memory.Area(uint64(uintptr(unsafe.Pointer(&memory[0])))); a != nil {
		t.Error("memory that was freed may be used")
	}
}

// TestAnAreaMayBeginWithinAWord has a thread read a whole word of memory that begins two
// bytes before it.
func TestAnAreaMayBeginWithinAWord(t *testing.T) {
	memory := make(words, 64)
	m := &ptx.Machine{}
	m.Memory.Add(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), 256)[2:], false)
	if err := memory.launch(t, "ld.global.u32 %r3, [%rd3+4]; st.global.u32 [%rd3+4], %r3;", 1, 1, m); err != nil {
		t.Error(err)
	}
}

// TestThreadsMeetWhereTheirWaysDo has the threads go around a loop as often as their
// numbers say, and then exchange what they counted, all together.
func TestThreadsMeetWhereTheirWaysDo(t *testing.T) {
	memory := make(words, 64)
	body := `mov.u32 %r3, 0; mov.u32 %r4, 0;
		$L__A: setp.ge.u32 %p1, %r3, %r1; @%p1 bra $L__B; add.s32 %r4, %r4, %r3; add.s32 %r3, %r3, 1; and.b32 %r5, %r1, 1; setp.eq.s32 %p2, %r5, 0; @%p2 bra $L__A; add.s32 %r4, %r4, 100; bra.uni $L__A;
		$L__B: shfl.sync.bfly.b32 %r6, %r4, 1, 0x1f, 0xffffffff; st.global.u32 [%rd4], %r6;`
	fatal.If(t, memory.run(t, body, 1, 64, &ptx.Machine{}))
	for i, got := range memory {
		n := i ^ 1
		if want := n*(n-1)/2 + n%2*100*n; int(got) != want {
			t.Errorf("thread %d: got %d, want %d", i, got, want)
		}
	}
}

// module returns a shipped module.
func module(t *testing.T, m kernels.Module) *ptx.Module {
	t.Helper()
	for code := range m.Codes(0, 0) {
		parsed, err := ptx.Parse(string(code.Bytes))
		fatal.If(t, err)
		return parsed
	}
	panic("no PTX")
}

func TestEveryShippedEntryLinks(t *testing.T) {
	entries := 0
	for m := range kernels.ModuleCount {
		parsed := module(t, m)
		for _, name := range parsed.Entries() {
			if _, err := parsed.Link(name); err != nil {
				t.Errorf("%v: %v", m, err)
			}
			entries++
		}
	}
	if entries != int(kernels.Count) {
		t.Errorf("%d entries, want %d", entries, kernels.Count)
	}
}
