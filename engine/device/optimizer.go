package device

// Update is what the fused optimizers have in common: one parameter array, its
// gradient, and where the step stands. P is float32 (or float64); G is any
// floating type of the same length.
type Update struct {
	P, G Array
	// LR is the learning rate of this step.
	LR float64
	// WeightDecay is decoupled (p −= lr·decay·p) in AdamW, AdamW8 and Lion, and
	// added to the gradient (g += decay·p) in SGD and Adam.
	WeightDecay float64
	// Step, one float32 element, counts the steps taken, this one included; see
	// AdvanceStep. Only the Adam family reads it, for its bias corrections.
	Step Array
	// FoundInf, one float32 element, may be absent. When it is not 0 the whole
	// operation leaves everything as it was.
	FoundInf Array
	// Low, which may be absent, gets the new P in its own type: the half
	// precision copy that the next forward pass reads.
	Low Array
}

// SGD is stochastic gradient descent with momentum:
// m = momentum·m + (1−dampening)·g; g = g + momentum·m with Nesterov, else m;
// p −= lr·g. M is absent when Momentum is 0. First says that M holds nothing
// yet, and then m = g.
type SGD struct {
	Update
	M                   Array
	Momentum, Dampening float64
	Nesterov, First     bool
}

// Adam is Adam, or AdamW with decoupled decay:
// m = β1·m + (1−β1)·g; v = β2·v + (1−β2)·g²;
// p −= lr/(1−β1^t) · m / (√v/√(1−β2^t) + eps). M and V are as P.
type Adam struct {
	Update
	M, V              Array
	Beta1, Beta2, Eps float64
}

// QuantBlock is the number of elements that share one scale in AdamW8.
const QuantBlock = 256

// Adam8 is AdamW with both moments in eight bits: M and V are UInt8 [P.Len],
// indexes into the dynamic quantisation maps of quantize.go, signed for M and
// unsigned for V; ScaleM and ScaleV are float32 [⌈P.Len/QuantBlock⌉], the
// largest magnitude of each block. Fresh state is ZeroM and ZeroV everywhere
// with scales 0. P is updated from the moments before they are rounded.
type Adam8 struct {
	Update
	M, V, ScaleM, ScaleV Array
	Beta1, Beta2, Eps    float64
}

// Lion is the sign of an interpolated momentum:
// p −= lr·(sign(β1·m + (1−β1)·g) + decay·p); m = β2·m + (1−β2)·g.
type Lion struct {
	Update
	M            Array
	Beta1, Beta2 float64
}

// Optimizers updates parameters in place.
type Optimizers interface {
	SGD(u SGD)
	// Adam adds WeightDecay·p to the gradient.
	Adam(u Adam)
	// AdamW decays the parameter instead.
	AdamW(u Adam)
	AdamW8(u Adam8)
	Lion(u Lion)
	// AdvanceStep adds 1 to step (one float32 element) unless foundInf, which
	// may be absent, is not 0.
	AdvanceStep(step, foundInf Array)
}

// Scaling is what loss scaling and clipping need, without a value reaching the
// host. All scalars are one float32 element each.
type Scaling interface {
	// Unscale multiplies every gradient by 1/scale in place and sets foundInf
	// to 1 when any element was infinite or NaN; it never sets it to 0.
	Unscale(gradients []Array, scale, foundInf Array)
	// UpdateScale is PyTorch's GradScaler.update: with foundInf not 0, scale is
	// multiplied by backoff and tracker becomes 0; else tracker grows by 1 and
	// when it reaches interval, scale is multiplied by growth (unless that is
	// infinite) and tracker becomes 0.
	UpdateScale(scale, tracker, foundInf Array, growth, backoff float64, interval int)
	// ClipByNorm multiplies every gradient in place by
	// min(1, limit/(norm + 1e-6)), as PyTorch's clip_grad_norm_ does.
	ClipByNorm(gradients []Array, norm Array, limit float64)
}
