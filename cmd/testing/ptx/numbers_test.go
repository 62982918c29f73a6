package ptx_test

import (
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/ptx"
)

// computed runs an instruction on rows of three words, and returns a word of each.
func computed(t *testing.T, rows [][3]uint32, instruction string) []uint32 {
	t.Helper()
	return computedWith(t, ptx.Nearest, rows, instruction)
}

func computedWith(t *testing.T, f ptx.Freedom, rows [][3]uint32, instruction string) []uint32 {
	t.Helper()
	memory := make(words, 3*len(rows))
	for i, row := range rows {
		copy(memory[3*i:], row[:])
	}
	body := `mul.wide.u32 %rd1, %r1, 12; add.s64 %rd4, %rd3, %rd1;
		ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd4+4]; ld.global.f32 %f3, [%rd4+8];` + instruction + `st.global.f32 [%rd4], %f4;`
	fatal.If(t, memory.run(t, body, 1, uint32(len(rows)), &ptx.Machine{Freedom: f}))
	results := make([]uint32, len(rows))
	for i := range results {
		results[i] = memory[3*i]
	}
	return results
}

func TestNumbersAtTheEdges(t *testing.T) {
	const inf, nan = 0x7f800000, 0x7fffffff
	tests := []struct {
		instruction string
		a, b, want  uint32
	}{
		{"add.rn.f32 %f4, %f1, %f2;", inf, inf | 1<<31, nan},
		{"mul.rn.f32 %f4, %f1, %f2;", 1, 0x3f000000, 0}, // half of the least is even when it is 0
		{"mul.rn.f32 %f4, %f1, %f2;", 3, 0x3f000000, 2},
		{"max.f32 %f4, %f1, %f2;", nan, 0x40000000, 0x40000000},
		{"max.f32 %f4, %f1, %f2;", 1 << 31, 0, 0},
		{"rcp.rn.f32 %f4, %f1;", 1 << 31, 0, inf | 1<<31},
		{"ex2.approx.ftz.f32 %f4, %f1;", 0xc3000000, 0, 0}, // 2^-128 is subnormal
		{"neg.f32 %f4, %f1;", 0, 0, 1 << 31},
	}
	for _, test := range tests {
		if got := computed(t, [][3]uint32{{test.a, test.b}}, test.instruction)[0]; got != test.want {
			t.Errorf("%s of %x and %x: got %x, want %x", test.instruction, test.a, test.b, got, test.want)
		}
	}
}

// TestPowersAreAsFarOffAsTheyMayBe compares with the nearest number.
func TestPowersAreAsFarOffAsTheyMayBe(t *testing.T) {
	const inf, negative = 0x7f800000, 1 << 31
	rows := [][3]uint32{{0}, {negative}, {1}, {inf}, {inf | negative}, {0x7fffffff}, {0x43160000}}
	exact := len(rows)
	for x := float32(-125.9); x < 127.9; x += 0.37 {
		rows = append(rows, [3]uint32{math.Float32bits(x)})
	}
	const instruction = "ex2.approx.ftz.f32 %f4, %f1;"
	low, nearest, high := computedWith(t, ptx.Low, rows, instruction), computed(t, rows, instruction), computedWith(t, ptx.High, rows, instruction)
	for i := range rows {
		off := uint32(2)
		if i < exact {
			off = 0
		}
		if nearest[i]-low[i] != off || high[i]-nearest[i] != off {
			t.Errorf("of %x: %x, %x and %x, want them %d apart", rows[i][0], low[i], nearest[i], high[i], off)
		}
	}
	if got := computedWith(t, ptx.Low, [][3]uint32{{0xc2fc0000}}, instruction)[0]; got != 0 { // -126
		t.Errorf("below the least normal number lies %x, want 0", got)
	}
}

// TestSumsOfTensorCoresAreOpen multiplies ones by numbers that vanish beside the sum.
func TestSumsOfTensorCoresAreOpen(t *testing.T) {
	const one, small = 0x3f803f80, 0x33003300 // of bfloat16, two in a word: 1, and a quarter of the last bit of 1
	for f, want := range map[ptx.Freedom]uint32{ptx.Nearest: 0x3f800004, ptx.Low: 0x3f800000, ptx.High: 0x3f800010} {
		memory := make(words, 64)
		memory[0], memory[1] = one, small
		body := `ld.global.u32 %r3, [%rd3]; ld.global.u32 %r4, [%rd3+4]; mov.f32 %f1, 0f3F800000;
			mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f2, %f3, %f4, %f5}, {%r3, %r3, %r3, %r3}, {%r4, %r4}, {%f1, %f1, %f1, %f1};
			bar.sync 0; st.global.f32 [%rd4], %f2;`
		fatal.If(t, memory.run(t, body, 1, 32, &ptx.Machine{Freedom: f}))
		if got := memory[7]; got != want {
			t.Errorf("freedom %d: the sum is %x, want %x", f, got, want)
		}
	}
}
