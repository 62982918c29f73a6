package device

import "fmt"

// Rule names how an optimizer changes parameters.
type Rule uint8

// The rules, in the order in which the kernels number them.
const (
	// SGD is stochastic gradient descent with momentum:
	// m = momentum·m + g; g = g + momentum·m with Nesterov, else m;
	// when m holds nothing yet (First), m = g. Without momentum there
	// is no M.
	SGD Rule = iota
	// Adam is m = β1·m + (1−β1)·g; v = β2·v + (1−β2)·g²;
	// p −= lr/(1−β1^t) · m / (√v/√(1−β2^t) + eps).
	Adam
	// AdamW is Adam with decoupled decay.
	AdamW
	// Lion is the sign of an interpolated momentum:
	// p −= lr·(sign(β1·m + (1−β1)·g) + decay·p); m = β2·m + (1−β2)·g.
	Lion
	// AdamW8 is AdamW with both moments in eight bits. P is float32, and is updated
	// from the moments before they are rounded.
	AdamW8
	ruleCount
)

// rules has the rules' names, the state that they keep, and whether they correct
// by the number of steps.
var rules = [ruleCount]struct {
	name      string
	moments   int
	bytes     bool // codes of the maps of quantize.go, with a scale per QuantBlock
	corrected bool
}{
	SGD:    {name: "sgd", moments: 1},
	Adam:   {name: "adam", moments: 2, corrected: true},
	AdamW:  {name: "adamw", moments: 2, corrected: true},
	Lion:   {name: "lion", moments: 1},
	AdamW8: {name: "adamw 8-bit", moments: 2, bytes: true, corrected: true},
}

// String returns the rule's name, such as "adamw".
func (r Rule) String() string {
	if r >= ruleCount {
		return fmt.Sprintf("Rule(%d)", uint8(r))
	}
	return rules[r].name
}

// Rules returns every rule.
func Rules() []Rule { return allOf(ruleCount) }

// Moments returns how many arrays a rule keeps: M, or M and V.
func (r Rule) Moments() int { return rules[r].moments }

// InBytes reports whether the moments are stored in bytes with scales.
func (r Rule) InBytes() bool { return rules[r].bytes }

// QuantBlock is the number of elements that share one scale in AdamW8.
const QuantBlock = 256

// QuantBlocks returns the scales that n elements have.
func QuantBlocks(n int) int { return (n + QuantBlock - 1) / QuantBlock }

// Update is one optimizer step of a list of parameter arrays, all with the same
// rule and constants.
type Update struct {
	Rule Rule
	List []Parameter
	// LR is the learning rate of this step.
	LR float64
	// WeightDecay is decoupled (p −= lr·decay·p) in AdamW, AdamW8 and Lion, and
	// added to the gradient (g += decay·p) in SGD and Adam.
	WeightDecay       float64
	Beta1, Beta2, Eps float64
	Momentum          float64
	Nesterov          bool
	// Step, one float32 element, counts the steps taken, this one included; see
	// AdvanceStep. Only the Adam family reads it, for its bias corrections.
	Step Array
	// Norm, one float32 element, may be absent. If given, the operation multiplies
	// gradients by min(1, Limit/(Norm + 1e-6)), as PyTorch's clip_grad_norm_ does.
	Norm  Array
	Limit float64
	// FoundInf, one float32 element, may be absent. When it is not 0 the whole
	// operation leaves everything as it was.
	FoundInf Array
}

// Parameter is one array that an Update changes. P is float32, or float64 in the
// whole list; G is any floating type of the same length.
type Parameter struct {
	P, G Array
	// M and V are as P, as far as the rule has them; those of a rule in bytes are
	// UInt8 [P.Len], indexes into the dynamic quantisation maps of quantize.go,
	// signed for M and unsigned for V, and ScaleM and ScaleV float32
	// [QuantBlocks(P.Len)], the largest magnitude of each block. Fresh state is 0,
	// or ZeroM and ZeroV everywhere with scales 0.
	M, V, ScaleM, ScaleV Array
	// Low, which may be absent, gets the new P in its own type: the half
	// precision copy that the next forward pass reads.
	Low Array
	// First says that M holds nothing yet.
	First bool
}

// UpdatePlan is a checked Update, without the fields that its rule does not use.
type UpdatePlan struct{ Update }

// Wide reports whether it is computed in float64.
func (p *UpdatePlan) Wide() bool { return len(p.List) > 0 && p.List[0].P.DType == Float64 }

// Plan checks u and panics when an operand does not fit its rule. It clears, in
// place, the fields of u's list that the rule does not use.
func (u Update) Plan() UpdatePlan {
	checkNumber("update", u.Rule, ruleCount)
	name, rule := u.Rule.String(), &rules[u.Rule]
	CheckFlag(name, u.FoundInf)
	if !u.Norm.Absent() {
		CheckScalar(name, "norm", u.Norm)
	}
	if rule.corrected {
		CheckScalar(name, "step", u.Step)
	} else {
		u.Step = Array{}
	}
	for i := range u.List {
		x := &u.List[i]
		x.check(name, rule.bytes, u.List[0].P.DType)
		x.settleState(name, rule.moments, rule.bytes, u.Rule != SGD || u.Momentum != 0)
	}
	return UpdatePlan{u}
}

// check panics unless the operands fit; kind is the type of the list's
// parameters.
func (x *Parameter) check(name string, bytes bool, kind DType) {
	if x.P.DType != kind || kind != Float32 && (kind != Float64 || bytes) {
		panic(fmt.Sprintf("device: %s: parameters of type %v, want float32", name, x.P.DType))
	}
	CheckFloat(name, x.G.DType, x.Low.DType)
	CheckLen(name, "gradient", x.G, x.P.Len)
	CheckOptional(name, "low precision copy", x.Low, x.P.Len)
}

// settleState checks the state that a rule uses, and clears the rest.
func (x *Parameter) settleState(name string, moments int, bytes, first bool) {
	moment := x.P.DType
	if bytes {
		moment = UInt8
	}
	n, blocks := x.P.Len, QuantBlocks(x.P.Len)
	x.M = settle(name, "first moment", x.M, moment, n, first)
	x.V = settle(name, "second moment", x.V, moment, n, moments == 2)
	x.ScaleM = settle(name, "scales of the first moment", x.ScaleM, Float32, blocks, bytes)
	x.ScaleV = settle(name, "scales of the second moment", x.ScaleV, Float32, blocks, bytes)
}

func settle(operation, name string, a Array, kind DType, n int, used bool) Array {
	if !used {
		return Array{}
	}
	if a.DType != kind {
		panic(fmt.Sprintf("device: %s: %s of type %v, want %v", operation, name, a.DType, kind))
	}
	CheckLen(operation, name, a, n)
	return a
}

// Optimizers updates parameters in place.
type Optimizers interface {
	// Update takes a step of all parameters of the list.
	Update(p UpdatePlan)
	// AdvanceStep adds 1 to step (one float32 element) unless foundInf, which
	// may be absent, is not 0.
	AdvanceStep(step, foundInf Array)
}

// Scaling has the operations that loss scaling needs. None of them brings a value
// to the host. All scalars are one float32 element each.
type Scaling interface {
	// Unscale multiplies every gradient by 1/scale in place and sets foundInf
	// to 1 when any element was infinite or NaN; it never sets it to 0.
	Unscale(gradients []Array, scale, foundInf Array)
	// UpdateScale is PyTorch's GradScaler.update: with foundInf not 0, scale is
	// multiplied by backoff and tracker becomes 0; else tracker grows by 1 and
	// when it reaches interval, scale is multiplied by growth (unless that is
	// infinite) and tracker becomes 0.
	UpdateScale(scale, tracker, foundInf Array, growth, backoff float64, interval int)
}
