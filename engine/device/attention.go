package device

import "fmt"

// AttentionKind names an implementation. All give the same result except for
// rounding; they differ in the memory that they keep.
type AttentionKind uint8

// The implementations, and what each keeps for its backward operation.
const (
	// Naive keeps the probabilities, [Batch, Heads, Queries, Keys].
	Naive AttentionKind = iota
	// Chunked computes the scores of Chunk queries at a time, keeps one number
	// per query, and computes the scores again in the backward operation.
	Chunked
	// Flash works in tiles that stay in the processor, never holds a row of
	// scores, and keeps one number per query.
	Flash
	attentionCount
)

var attentionNames = [attentionCount]string{"naive", "chunked", "flash"}

// String returns "naive", "chunked" or "flash".
func (k AttentionKind) String() string {
	if k >= attentionCount {
		return fmt.Sprintf("AttentionKind(%d)", uint8(k))
	}
	return attentionNames[k]
}

// AttentionKinds returns every implementation.
func AttentionKinds() []AttentionKind { return allOf(attentionCount) }

// Heads is an operand of attention: the element (batch, head, row, d) is
// Array[batch·BatchStride + head·HeadStride + row·RowStride + d]. So queries,
// keys and values may lie side by side in the output of one projection.
type Heads struct {
	Array
	BatchStride, HeadStride, RowStride int
}

// Attention describes O = softmax(scale·Q·Kᵀ)·V for every batch and head. Q and
// O have Queries rows of Dim elements, K and V have Keys. With Causal, query i
// sees keys j ≤ i + Keys − Queries.
type Attention struct {
	Kind                             AttentionKind
	Batch, Heads, Queries, Keys, Dim int
	Causal                           bool
	Scale                            float64 // 0 means 1/√Dim
	Q, K, V, O                       Heads
	// Probs is what Naive keeps: contiguous [Batch, Heads, Queries, Keys],
	// floating-point of any type.
	Probs Array
	// LSE is kept by the other kinds: log Σ e^score: contiguous [Batch, Heads,
	// Queries], float32 (float64 when Q is).
	LSE Array
	// Chunk is the number of queries that Chunked takes at once; 0 means 64.
	Chunk int
	// Work is scratch of at least Workspace bytes.
	Work Buffer
}

// AttentionBackward describes the gradients of A. DQ, DK and DV are overwritten.
type AttentionBackward struct {
	A              Attention
	DO, DQ, DK, DV Heads
	// Work is scratch of at least A.BackwardWorkspace bytes; A.Work is
	// not used.
	Work Buffer
}

// Attentions computes attention and its gradients.
type Attentions interface {
	// Attention writes O, and Probs or LSE.
	Attention(p AttentionPlan)
	// AttentionBackward computes, with P the probabilities,
	// dV = Pᵀ·dO, dP = dO·Vᵀ, dS = P·(dP − rowsum(dO·O)), dQ = scale·dS·K,
	// dK = scale·dSᵀ·Q. Flash and Chunked read O, and Naive Probs.
	AttentionBackward(p AttentionBackwardPlan)
}
