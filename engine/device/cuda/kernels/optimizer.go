package kernels

import (
	"fmt"
	"math"

	"memtop/engine/device"
)

// The rules, as the kernel numbers them.
const (
	ruleSGD = iota
	ruleAdam
	ruleAdamW
	ruleLion
)

// updatePart is the elements of a block of an update.
const updatePart = 4096

type updateArgs struct {
	P, G, M, V, Low, Step, Found                                         device.Array
	LR, Decay, Beta1, Beta2, LogBeta1, LogBeta2, Eps, Momentum, Undamped float64
	Rule, Nesterov, First                                                int32
}

// newUpdate checks what all optimizers share.
func newUpdate(name string, rule int32, u device.Update) updateArgs {
	if u.P.DType != device.Float32 && u.P.DType != device.Float64 {
		panic(fmt.Sprintf("kernels: %s: parameters of type %v, want float32", name, u.P.DType))
	}
	needFloat(name, u.G.DType, u.Low.DType)
	need(name, "gradient", u.G, u.P.Len)
	allow(name, "low precision copy", u.Low, u.P.Len)
	needFlag(name, u.FoundInf)
	return updateArgs{P: u.P, G: u.G, Low: u.Low, Step: u.Step, Found: u.FoundInf, LR: u.LR, Decay: u.WeightDecay, Rule: rule}
}

// needState panics unless a is laid out as the parameters are.
func needState(operation, name string, a, p device.Array) {
	if a.DType != p.DType {
		panic(fmt.Sprintf("kernels: %s: %s of type %v for parameters of %v", operation, name, a.DType, p.DType))
	}
	need(operation, name, a, p.Len)
}

// SGD implements device.Optimizers.
func (c *Compute) SGD(u device.SGD) {
	a := newUpdate("sgd", ruleSGD, u.Update)
	a.Momentum, a.Undamped, a.Nesterov, a.First = u.Momentum, 1-u.Dampening, flag(u.Nesterov), flag(u.First)
	if u.Momentum != 0 {
		needState("sgd", "momentum", u.M, u.P)
		a.M = u.M
	}
	c.update(a)
}

// Adam implements device.Optimizers.
func (c *Compute) Adam(u device.Adam) { c.adam("adam", ruleAdam, u) }

// AdamW implements device.Optimizers.
func (c *Compute) AdamW(u device.Adam) { c.adam("adamw", ruleAdamW, u) }

func (c *Compute) adam(name string, rule int32, u device.Adam) {
	a := newUpdate(name, rule, u.Update)
	needState(name, "first moment", u.M, u.P)
	needState(name, "second moment", u.V, u.P)
	needScalar(name, "step", u.Step)
	a.M, a.V, a.Beta1, a.Beta2, a.Eps = u.M, u.V, u.Beta1, u.Beta2, u.Eps
	a.LogBeta1, a.LogBeta2 = math.Log(u.Beta1), math.Log(u.Beta2)
	c.update(a)
}

// Lion implements device.Optimizers.
func (c *Compute) Lion(u device.Lion) {
	a := newUpdate("lion", ruleLion, u.Update)
	needState("lion", "momentum", u.M, u.P)
	a.M, a.Beta1, a.Beta2 = u.M, u.Beta1, u.Beta2
	c.update(a)
}

func (c *Compute) update(a updateArgs) {
	k := pick(a.P.DType == device.Float64, UpdateWide, Update)
	run(c, k, line(ceil(a.P.Len, updatePart)), blockThreads, 0, a)
}

type update8Args struct {
	P, G, M, V, ScaleM, ScaleV, Low, Step, Found     device.Array
	LR, Decay, Beta1, Beta2, LogBeta1, LogBeta2, Eps float64
}

// AdamW8 implements device.Optimizers.
func (c *Compute) AdamW8(u device.Adam8) {
	const name = "adamw 8-bit"
	if u.P.DType != device.Float32 || u.M.DType != device.UInt8 || u.V.DType != device.UInt8 ||
		u.ScaleM.DType != device.Float32 || u.ScaleV.DType != device.Float32 {
		panic(fmt.Sprintf("kernels: %s: parameters %v, moments %v and %v, scales %v and %v", name, u.P, u.M, u.V, u.ScaleM, u.ScaleV))
	}
	a := newUpdate(name, ruleAdamW, u.Update)
	blocks := ceil(u.P.Len, device.QuantBlock)
	need(name, "first moment", u.M, u.P.Len)
	need(name, "second moment", u.V, u.P.Len)
	need(name, "scales of the first moment", u.ScaleM, blocks)
	need(name, "scales of the second moment", u.ScaleV, blocks)
	needScalar(name, "step", u.Step)
	run(c, Update8, line(blocks), device.QuantBlock, 0, update8Args{
		P: u.P, G: u.G, M: u.M, V: u.V, ScaleM: u.ScaleM, ScaleV: u.ScaleV, Low: u.Low, Step: u.Step, Found: u.FoundInf,
		LR: a.LR, Decay: a.Decay, Beta1: u.Beta1, Beta2: u.Beta2, LogBeta1: math.Log(u.Beta1), LogBeta2: math.Log(u.Beta2), Eps: u.Eps,
	})
}

type advanceArgs struct{ Step, Found device.Array }

// AdvanceStep implements device.Optimizers.
func (c *Compute) AdvanceStep(step, foundInf device.Array) {
	needScalar("advance step", "step", step)
	needFlag("advance step", foundInf)
	run(c, Advance, line(1), 32, 0, advanceArgs{step, foundInf})
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
