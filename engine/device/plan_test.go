package device

import (
	"strings"
	"testing"
)

func on(d DType, n int) Array { return Array{Addr: 1 << 40, Len: n, DType: d} }

func panics(t *testing.T, do func()) (message string) {
	t.Helper()
	defer func() {
		message, _ = recover().(string)
		if !strings.HasPrefix(message, "device: ") || strings.Contains(message, "\n") {
			t.Errorf("got %q, want one line of a panic", message)
		}
	}()
	do()
	return ""
}

func TestThereIsNoDefaultForANumberThatIsNoOperation(t *testing.T) {
	f := on(Float32, 6)
	product := MatMul{C: f, A: f, B: f, M: 2, N: 2, K: 3, Activate: true}
	tests := map[string]func(){
		"a function of one number":      func() { unaryCount.Check("unary") },
		"a function of two":             func() { binaryCount.Check("binary") },
		"a reduction":                   func() { reductionCount.Check("reduce") },
		"an optimizer":                  func() { Update{Rule: ruleCount}.Plan() },
		"a kind of attention":           func() { Attention{Kind: attentionCount, Keys: 1, Dim: 1}.Plan() },
		"an activation":                 func() { product.Activation = unaryCount; product.Plan() },
		"an activation ends no product": func() { product.Activation = Tanh; product.Plan() },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) { panics(t, do) })
	}
	for _, op := range UnaryOps() {
		if op.Check("unary"); op.String() == "" {
			t.Errorf("function %d has no name", op)
		}
	}
	for _, rule := range Rules() {
		if rule.String() == "" || rule.Moments() < 1 || rule.Moments() > 2 {
			t.Errorf("rule %d is not described", rule)
		}
	}
}

func TestWhatDoesNotFitIsNoPlan(t *testing.T) {
	f, half, one := on(Float32, 6), on(Float16, 6), on(Float32, 1)
	heads := func(n int) Heads { return Heads{Array: on(Float32, n), BatchStride: 6, HeadStride: 2, RowStride: 2} }
	attention := Attention{Kind: Chunked, Batch: 1, Heads: 1, Queries: 3, Keys: 3, Dim: 2, Q: heads(6), K: heads(6), V: heads(6), O: heads(6), LSE: on(Float32, 3)}
	image := Conv2D{Batch: 1, InChannels: 1, OutChannels: 1, InHeight: 2, InWidth: 3, KernelHeight: 1, KernelWidth: 1, X: f, Weight: one, Y: f}
	norm := Norm{Rows: 2, Cols: 3, X: f, Y: f, Mean: on(Float32, 2), RStd: on(Float32, 2)}
	strided := func(stride int) Strided { return Strided{Base: f, Strides: []int{stride}} }
	entropy := CrossEntropy{Rows: 2, Classes: 3, Logits: f, Targets: on(Int32, 2), LSE: on(Float32, 2), Loss: one, Count: one}
	tests := map[string]struct {
		plan func()
		want string
	}{
		"a matrix beyond its memory":   {func() { MatMul{C: f, A: f, B: f, M: 2, N: 3, K: 4}.Plan() }, "matmul: A has 6 elements, want at least 8"},
		"rows that overlap":            {func() { MatMul{C: f, A: f, B: f, M: 2, N: 2, K: 3, LDA: 2}.Plan() }, "rows of A"},
		"a bias of another length":     {func() { MatMul{C: f, A: f, B: f, M: 2, N: 2, K: 3, Bias: f}.Plan() }, "bias"},
		"the slope of no activation":   {func() { MatMul{C: f, A: f, B: f, M: 2, N: 2, K: 3, Slope: true}.Plan() }, "slope"},
		"sums of a plain A":            {func() { MatMul{C: f, A: f, B: f, M: 2, N: 2, K: 3, SumA: on(Float32, 2)}.Plan() }, "sums of A"},
		"attention without scratch":    {func() { attention.Plan() }, "0 bytes of workspace, want 36"},
		"its gradients without":        {func() { AttentionBackward{A: attention, DO: heads(6), DQ: heads(6), DK: heads(6), DV: heads(6)}.Plan() }, "workspace"},
		"queries beyond their memory":  {func() { a := attention; a.Q = heads(5); a.Plan() }, "Q has 5 elements"},
		"statistics of another type":   {func() { n := norm; n.RStd.DType = Float64; n.Plan() }, "statistics"},
		"a layer norm without a mean":  {func() { n := norm; n.Mean = Array{}; n.Plan() }, "mean"},
		"a gradient of another length": {func() { NormBackward{N: norm, DY: one}.Plan() }, "dy has 1"},
		"an image without scratch":     {func() { image.Plan() }, "workspace"},
		"a kernel beyond its image":    {func() { c := image; c.KernelHeight = 4; c.Plan() }, "no such convolution"},
		"parameters in half precision": {func() { Update{Rule: Lion, List: []Parameter{{P: half, G: f}}}.Plan() }, "parameters"},
		"a moment of another type":     {func() { Update{Rule: Lion, List: []Parameter{{P: f, G: f, M: half}}}.Plan() }, "first moment of type float16"},
		"Adam without a second moment": {func() { Update{Rule: Adam, Step: one, List: []Parameter{{P: f, G: f, M: f}}}.Plan() }, "second moment"},
		"Adam without a step":          {func() { Update{Rule: Adam, List: []Parameter{{P: f, G: f, M: f, V: f}}}.Plan() }, "step"},
		"views of two types":           {func() { CheckStrided(Strided{Base: f}, Strided{Base: half}, nil) }, "from float16 to float32"},
		"a shape without strides":      {func() { CheckStrided(Strided{Base: f}, Strided{Base: f}, []int{6}) }, "shape [6]"},
		"strides beyond their memory":  {func() { CheckStrided(strided(1), strided(2), []int{6}) }, "src has 6 elements, want at least 11"},
		"strides that go back":         {func() { CheckStrided(strided(-1), strided(1), []int{6}) }, "negative stride"},
		"a mask of numbers":            {func() { CheckDropout("dropout", f, 6, 0.5) }, "mask of type float32"},
		"a probability of 1":           {func() { CheckDropout("dropout", Array{}, 6, 1) }, "probability 1"},
		"logits that are none":         {func() { c := entropy; c.Rows = 3; c.Check("entropy") }, "logits has 6 elements, want 9"},
		"a loss of another type":       {func() { c := entropy; c.Loss = half; c.Check("entropy") }, "loss, lse or count of float16"},
		"too few targets":              {func() { c := entropy; c.Targets.Len = 1; c.Check("entropy") }, "targets has 1"},
		"bytes without their scales": {func() {
			Update{Rule: AdamW8, Step: one, List: []Parameter{{P: f, G: f, M: on(UInt8, 6), V: on(UInt8, 6)}}}.Plan()
		}, "scales of the first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := panics(t, test.plan); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAPlanHasNoZerosLeft(t *testing.T) {
	f := on(Float64, 6)
	m := MatMul{C: f, A: f, B: f, M: 2, N: 2, K: 3, TransA: true}.Plan()
	if m.LDA != 2 || m.LDB != 2 || m.LDC != 2 || m.Batch != 1 || m.StrideC != 4 || m.Alpha != 1 || !m.Wide() {
		t.Errorf("the product is %+v", m)
	}
	h := Heads{Array: on(Float32, 8), BatchStride: 8, HeadStride: 4, RowStride: 4}
	a := Attention{Kind: Flash, Batch: 1, Heads: 1, Queries: 2, Keys: 2, Dim: 4, Causal: true, Q: h, K: h, V: h, O: h, LSE: on(Float32, 2)}.Plan()
	if a.Scale != 0.5 || a.Chunk != 2 || a.AllHeads != 1 || a.Wide() || a.Visible(0) != 1 || a.Visible(1) != 2 {
		t.Errorf("the attention is %+v", a)
	}
	u := Update{Rule: SGD, Step: f, List: []Parameter{{P: f, G: f, M: f, V: f, ScaleM: f}}}.Plan()
	if !u.List[0].M.Absent() || !u.List[0].V.Absent() || !u.List[0].ScaleM.Absent() || !u.Step.Absent() {
		t.Errorf("plain descent keeps state: %+v", u)
	}
	n := Norm{RMS: true, Rows: 2, Cols: 3, X: f, Y: f, RStd: on(Float64, 2), Mean: f, Bias: f}.Plan()
	if !n.Mean.Absent() || !n.Bias.Absent() || !n.Wide() {
		t.Errorf("the normalisation is %+v", n)
	}
}
