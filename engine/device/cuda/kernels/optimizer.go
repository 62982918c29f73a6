package kernels

import (
	"math"

	"github.com/memtop/memtop/engine/device"
)

// The parameters that one launch takes: as many as its arguments hold. A block has
// updatePart elements of one of them, or as many as share a scale.
const (
	updateItems = 52
	updatePart  = 4096
)

type updateItem struct {
	P, G, M, V, ScaleM, ScaleV, Low uint64 // addresses, 0 for none
	Len                             int64
	Begin                           int32 // the first block that works on this one
	GradType, LowType, First        uint8
}

type updateArgs struct {
	Item                                             [updateItems]updateItem
	LR, Decay, Beta1, Beta2, Eps, Momentum, Undamped float64 // Undamped is 1: no optimizer dampens
	Limit                                            float64
	Correction, Found, Norm                          uint64 // addresses, 0 for none
	Count, Rule, Nesterov                            int32
}

type correctArgs struct {
	LR, LogBeta1, LogBeta2 float64
	Step, To               uint64
}

// Update implements device.Optimizers. Adam's corrections for its bias are computed once,
// before the blocks that read them.
func (c *Compute) Update(u device.UpdatePlan) {
	k, part, threads := Update, updatePart, uint32(blockThreads)
	if u.Rule.InBytes() {
		k, part, threads = Update8, device.QuantBlock, device.QuantBlock
	}
	a := &c.update
	*a = updateArgs{
		LR: u.LR, Decay: u.WeightDecay, Beta1: u.Beta1, Beta2: u.Beta2, Eps: u.Eps, Momentum: u.Momentum, Undamped: 1,
		Limit: u.Limit, Found: u.FoundInf.Addr, Norm: u.Norm.Addr, Rule: int32(u.Rule), Nesterov: flag(u.Nesterov),
	}
	if !u.Step.Absent() && len(u.List) > 0 {
		a.Correction = c.scratch.Addr
		launch(c, Correct, line(1), 32, 0, correctArgs{u.LR, math.Log(u.Beta1), math.Log(u.Beta2), u.Step.Addr, a.Correction})
	}
	blocks := 0
	for i := range u.List {
		x := &u.List[i]
		checkTypes("update", x.P.DType, x.G.DType, x.Low.DType)
		if x.P.Len > 0 {
			a.Item[a.Count] = itemOf(x, blocks)
			a.Count++
			blocks += ceil(x.P.Len, part)
		}
		if a.Count == updateItems || i == len(u.List)-1 {
			launch(c, k, line(blocks), threads, 0, *a)
			a.Count, blocks = 0, 0
		}
	}
}

// itemOf returns the item for a parameter whose blocks start at begin.
func itemOf(x *device.Parameter, begin int) updateItem {
	return updateItem{
		P: x.P.Addr, G: x.G.Addr, M: x.M.Addr, V: x.V.Addr, ScaleM: x.ScaleM.Addr, ScaleV: x.ScaleV.Addr, Low: x.Low.Addr,
		Len: int64(x.P.Len), Begin: int32(begin), GradType: uint8(x.G.DType), LowType: uint8(x.Low.DType), First: uint8(flag(x.First)),
	}
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
