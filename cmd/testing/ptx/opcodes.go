package ptx

import (
	"maps"
	"math"
	"strings"
)

// operations are the instructions that only compute a register of registers, by their
// names. They are those that the shipped modules use, and no others: what is missing is
// reported when a module is linked.
var operations = allOperations()

func allOperations() map[string]operation {
	all := map[string]operation{
		"add.s32": add[int32], "add.s64": add[int64], "add.u64": add[uint64],
		"add.rn.f32": plus[float32], "add.rn.f64": plus[float64],
		"sub.s32": sub[int32], "sub.s64": sub[int64],
		"sub.rn.f32": minus[float32], "sub.rn.f64": minus[float64],
		"mul.lo.s32": mul[int32], "mul.lo.s64": mul[int64],
		"mul.rn.f32": times[float32], "mul.rn.f64": times[float64],
		"mul.wide.s32": wide[int64, int32], "mul.wide.u32": wide[uint64, uint32], "mul.wide.u16": wide[uint32, uint16],
		"mad.lo.s32": mad[int32], "mad.lo.s64": mad[int64],
		"fma.rn.f32": fused32, "fma.rn.f64": fused64,
		"div.u32": div[uint32], "div.s64": div[int64], "div.u64": div[uint64],
		"div.rn.f32": divide[float32], "div.rn.f64": divide[float64],
		"rem.u32": rem[uint32], "rem.s64": rem[int64], "rem.u64": rem[uint64],
		"neg.s32": neg[int32], "neg.s64": neg[int64], "neg.f32": opposite32, "neg.f64": opposite64,
		"abs.f32": absolute32,
		"min.s32": least[int32], "min.u32": least[uint32], "min.s64": least[int64], "min.u64": least[uint64],
		"max.s32": most[int32], "max.u32": most[uint32], "max.s64": most[int64], "max.f32": larger,
		"rcp.rn.f32": of(inverse[float32]), "rcp.rn.f64": of(inverse[float64]),
		"sqrt.rn.f32": of(root32), "sqrt.rn.f64": of(math.Sqrt),
		"shl.b32": left[uint32], "shl.b64": left[uint64],
		"shr.s32": right[int32], "shr.u32": right[uint32], "shr.s64": right[int64], "shr.u64": right[uint64],
		"bfe.u32": field, "not.pred": deny, "not.b32": not,
	}
	for _, kind := range []string{"pred", "b16", "b32", "b64"} {
		all["and."+kind], all["or."+kind], all["xor."+kind] = and, or, xor
	}
	for _, kind := range strings.Fields("pred b16 u16 b32 u32 s32 f32 b64 u64 f64") {
		all["mov."+kind], all["selp."+kind] = move, choose
	}
	maps.Copy(all, conversions())
	for kind, of := range map[string]map[string]operation{
		"b16": ofIntegers[uint16](), "s16": ofIntegers[int16](), "u16": ofIntegers[uint16](),
		"b32": ofIntegers[uint32](), "s32": ofIntegers[int32](), "u32": ofIntegers[uint32](),
		"s64": ofIntegers[int64](), "u64": ofIntegers[uint64](), "f32": ofFloats[float32](), "f64": ofFloats[float64](),
	} {
		for relation, operation := range of {
			all["setp."+relation+"."+kind] = operation
		}
	}
	return all
}

func conversions() map[string]operation {
	const least, most = math.MinInt64, math.MaxInt64
	return map[string]operation{
		"cvt.u64.u32": convert[uint64, uint32], "cvt.s64.s32": convert[int64, int32],
		"cvt.u32.u64": convert[uint32, uint64], "cvt.u32.u16": convert[uint32, uint16],
		"cvt.u16.u32": convert[uint16, uint32], "cvt.u16.u64": convert[uint16, uint64],
		"cvt.f64.f32": convert[float64, float32], "cvt.rn.f32.f64": convert[float32, float64],
		"cvt.rn.f32.s16": convert[float32, int16], "cvt.rn.f32.u16": convert[float32, uint16],
		"cvt.rn.f32.s32": convert[float32, int32], "cvt.rn.f32.s64": convert[float32, int64],
		"cvt.rn.f64.s16": convert[float64, int16], "cvt.rn.f64.u16": convert[float64, uint16],
		"cvt.rn.f64.s32": convert[float64, int32], "cvt.rn.f64.u32": convert[float64, uint32], "cvt.rn.f64.s64": convert[float64, int64],
		"cvt.rzi.s32.f64": truncate[int32, float64](math.MinInt32, math.MaxInt32, 0),
		"cvt.rzi.s64.f32": truncate[int64, float32](least, most, least), "cvt.rzi.s64.f64": truncate[int64, float64](least, most, least),
		"cvt.f32.f16": fromHalf, "cvt.rn.f16.f32": narrow(halfOf), "cvt.rn.bf16.f32": narrow(bfloatOf),
		"cvt.rn.f16x2.f32": pair(halfOf), "cvt.rn.bf16x2.f32": pair(bfloatOf),
	}
}
