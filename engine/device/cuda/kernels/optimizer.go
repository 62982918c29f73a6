package kernels

import (
	"math"

	"memtop/engine/device"
)

// updatePart is how many elements a block of an update has.
const updatePart = 4096

type updateArgs struct {
	P, G, M, V, Low, Step, Found                                         device.Array
	LR, Decay, Beta1, Beta2, LogBeta1, LogBeta2, Eps, Momentum, Undamped float64
	Rule, Nesterov, First                                                int32
}

type update8Args struct {
	P, G, M, V, ScaleM, ScaleV, Low, Step, Found     device.Array
	LR, Decay, Beta1, Beta2, LogBeta1, LogBeta2, Eps float64
}

// Update implements device.Optimizers.
func (c *Compute) Update(u device.UpdatePlan) {
	log1, log2 := math.Log(u.Beta1), math.Log(u.Beta2)
	if u.Rule.InBytes() {
		launch(c, Update8, line(device.QuantBlocks(u.P.Len)), device.QuantBlock, 0, update8Args{
			P: u.P, G: u.G, M: u.M, V: u.V, ScaleM: u.ScaleM, ScaleV: u.ScaleV, Low: u.Low, Step: u.Step, Found: u.FoundInf,
			LR: u.LR, Decay: u.WeightDecay, Beta1: u.Beta1, Beta2: u.Beta2, LogBeta1: log1, LogBeta2: log2, Eps: u.Eps,
		})
		return
	}
	k := pick(u.P.DType == device.Float64, UpdateWide, Update)
	launch(c, k, line(ceil(u.P.Len, updatePart)), blockThreads, 0, updateArgs{
		P: u.P, G: u.G, M: u.M, V: u.V, Low: u.Low, Step: u.Step, Found: u.FoundInf,
		LR: u.LR, Decay: u.WeightDecay, Beta1: u.Beta1, Beta2: u.Beta2, LogBeta1: log1, LogBeta2: log2, Eps: u.Eps,
		Momentum: u.Momentum, Undamped: 1 - u.Dampening, Rule: int32(u.Rule), Nesterov: flag(u.Nesterov), First: flag(u.First),
	})
}

type advanceArgs struct{ Step, Found device.Array }

// AdvanceStep implements device.Optimizers.
func (c *Compute) AdvanceStep(step, foundInf device.Array) {
	device.CheckScalar("advance step", "step", step)
	device.CheckFlag("advance step", foundInf)
	launch(c, Advance, line(1), 32, 0, advanceArgs{step, foundInf})
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
