package mutate

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
)

var numbers = []any{
	int64(0), int64(-1), int64(1), int64(2), int64(255), int64(511), int64(65_535), int64(65_536),
	int64(math.MaxInt32), int64(math.MinInt32), int64(1 << 31), int64(1 << 32), int64(1 << 47), int64(1 << 53), int64(1 << 62),
	int64(math.MaxInt64), int64(math.MinInt64), uint64(1 << 63), uint64(math.MaxUint64), uint64(math.MaxUint64 - 511),
	math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 0.5, math.Copysign(0, -1), -1e18, 1e19,
	true, false,
}

// number returns an extreme, or what lies beside the value that stood there.
func number(r *rand.Rand, was any) any {
	n, whole := was.(int64)
	if u, ok := was.(uint64); ok {
		n, whole = int64(u), true
	}
	if !whole || r.IntN(3) > 0 {
		return choose(r, numbers)
	}
	return choose(r, []int64{n - 1, n + 1, -n, n * 2, n * 1000, n / 2, n + 512, n - 512, n + 1<<21, n ^ 1<<r.IntN(64), r.Int64()})
}

// texts are strings that a terminal, a page or a parser may take amiss.
// escapeMark is in those that would steer a terminal.
var texts = []string{
	"", " ", "\n", "\r\n", "\t", "\x00", "\x00\x01\x1f\x7f", "\r over", "\b\b\b", "\a",
	"\x1b[" + EscapeMark + "m", "\x1b]0;" + EscapeMark + "\a", "\x1b]52;c;" + EscapeMark + "\x1b\\", "\x1bP" + EscapeMark + "\x1b\\", "\x1b[2J\x1b[" + EscapeMark + "H",
	"\u009b" + EscapeMark + "m", "\u009d0;" + EscapeMark + "\u009c", "\u0080\u0085\u0090\u009f", "\x9b1m", "\x85\x90",
	"abc\u202edef", "\u200e\u200f\u061c", "\u202a\u202b\u202c\u202d", "\u2066a\u2067b\u2068c\u2069", "zero\u200bwidth\u200c\u200d\u2060",
	"\ufeffmark", "\U000e0041\U000e0042\U000e007f", "soft\u00adhyphen", "\u2028\u2029", "\ufff9\ufffa\ufffb", "\u180e", "\U0001d173",
	"\ud7ff\ue000\ufdd0\uffff\U0010ffff", "e\u0301\u0301\u0301\u0301", strings.Repeat("\u0300", 200), "日本語のファイル", "👩‍👩‍👧‍👦🏳️‍🌈", "ﷺ", "\u3000", "\u00a0",
	"\xff\xfe", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "half\xe2\x82",
	"<script>alert(1)</script>", "</script><!--", "\"'`&<>", "=HYPERLINK(\"x\")", "@SUM(1)", "a;b;c 1", "a\\nb", "%s%n%d", "${x}", "`", "{\"a\":1}", "\\u0000", "C:\\a\\b",
	"alloc", "free_completed", "oom", "active_allocated", "inactive", "START", "END", "ProfilerStep#1", "ProfilerStep#-1", "ProfilerStep#99999999999999999999",
	"Optimizer.step#AdamW.step", "expandable_segments:True", "N/A", "unknown", "parameter", "segments", "device_traces", "frames",
}

// EscapeMark is in every string that would steer a terminal, where it would
// stand within the control sequence.
const EscapeMark = "73910"

// text returns a hostile string.
func text(r *rand.Rand) string {
	switch r.IntN(12) {
	case 0:
		return strings.Repeat(choose(r, texts), 1<<r.IntN(10))
	case 1:
		return strings.Repeat("x", choose(r, []int{255, 256, 4096, 65_536, 1 << 20}))
	case 2:
		return choose(r, texts) + functionName(r) + choose(r, texts)
	case 3:
		return functionName(r)
	case 4:
		return choose(r, texts) + choose(r, texts)
	default:
		return choose(r, texts)
	}
}

// other returns a value of any type.
func other(r *rand.Rand) any {
	switch r.IntN(10) {
	case 0:
		return nil
	case 1, 2:
		return choose(r, numbers)
	case 3:
		return text(r)
	case 4:
		return &pytorchtest.List{}
	case 5:
		return &pytorchtest.List{Items: []any{other(r), other(r)}}
	case 6:
		return &pytorchtest.Dict{}
	case 7:
		return &pytorchtest.Dict{Items: []pytorchtest.Item{{Key: text(r), Value: other(r)}}}
	case 8:
		return choose(r, []pytorchtest.Tuple{{}, {int64(1)}, {int64(-1), uint64(1 << 63)}, {"a", nil, 0.5}, {int64(1), int64(2), int64(3), int64(4)}})
	default:
		return choose(r, rawValues)
	}
}

// rawValues are Python values that no snapshot has: an integer beyond 64 bits,
// bytes, a set, a string of bytes.
var rawValues = []pytorchtest.Raw{
	"\x8a\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "L-99999999999999999999999L\n", "C\x03a\x00b", "\x8f", "U\x02\xff\xfe", "S'a\\x1b'\n",
}

// nest puts the value into many containers, one in the other.
func nest(r *rand.Rand, v any) any {
	kind := r.IntN(3)
	for range 1 << r.IntN(10) {
		switch kind {
		case 0:
			v = &pytorchtest.List{Items: []any{v}}
		case 1:
			v = &pytorchtest.Dict{Items: []pytorchtest.Item{{Key: "frames", Value: v}}}
		default:
			v = pytorchtest.Tuple{v}
		}
	}
	return v
}
