package nn

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/engine/autograd"
)

// Policy says which blocks of a model are checkpointed. A checkpointed block
// keeps only its inputs in the forward pass, and the backward pass computes the
// rest again. The zero value checkpoints nothing. A Policy is immutable.
type Policy struct {
	kind  policyKind
	every int
	ratio float64
	keep  []string
	// layers are the names of the layers that are checkpointed, each by itself.
	layers []string
	chosen map[string]bool // the same, to look up
}

type policyKind uint8

const (
	checkpointNone policyKind = iota
	checkpointBlock
	checkpointEvery
	checkpointSqrt
	checkpointRatio
	checkpointSelective
	checkpointLayers
)

// PerBlock checkpoints every block by itself.
func PerBlock() Policy { return Policy{kind: checkpointBlock} }

// Every checkpoints segments of k blocks, the last one perhaps shorter.
func Every(k int) Policy { return Policy{kind: checkpointEvery, every: max(k, 1)} }

// SqrtN checkpoints segments of ⌈√n⌉ of n blocks, which needs the least memory
// for inputs and one recomputed segment together.
func SqrtN() Policy { return Policy{kind: checkpointSqrt} }

// Ratio checkpoints a part of the blocks, between 0 and 1, spread evenly.
func Ratio(r float64) Policy {
	return Policy{kind: checkpointRatio, ratio: min(max(r, 0), 1)}
}

// SelectiveRoles are the operations whose results Selective keeps by default: the
// products, which cost most to compute again.
var SelectiveRoles = []string{"linear", "matmul", "conv2d", "attention"}

// Selective checkpoints every block by itself, but keeps the results of the
// operations with the given names, such as "linear" or "attention". Without names
// it keeps the results of SelectiveRoles.
func Selective(roles ...string) Policy {
	if len(roles) == 0 {
		roles = SelectiveRoles
	}
	return Policy{kind: checkpointSelective, keep: slices.Clone(roles)}
}

// Layers checkpoints the layers with the given names, such as "h.2" or
// "h.2.mlp", each by itself. Without a name it is the policy that checkpoints
// nothing.
func Layers(names ...string) Policy {
	if len(names) == 0 {
		return Policy{}
	}
	p := Policy{kind: checkpointLayers, layers: slices.Clone(names), chosen: make(map[string]bool, len(names))}
	for _, name := range names {
		p.chosen[name] = true
	}
	return p
}

// Chosen returns the names of the layers that are checkpointed one by one.
func (p Policy) Chosen() []string { return slices.Clone(p.layers) }

// Selective says whether results are kept within checkpoints.
func (p Policy) Selective() bool { return p.kind == checkpointSelective }

// Keep says whether the results of an operation are kept within checkpoints.
func (p Policy) Keep(op, _ string) bool { return slices.Contains(p.keep, op) }

// Segment is blocks From to To, without To, that run together.
type Segment struct {
	From, To   int
	Checkpoint bool
}

// Segments divides n blocks. All of them are in one segment, in order.
func (p Policy) Segments(n int) []Segment {
	switch p.kind {
	case checkpointNone, checkpointLayers:
		return []Segment{{From: 0, To: n}}
	case checkpointEvery:
		return pieces(n, p.every)
	case checkpointSqrt:
		return pieces(n, max(int(math.Ceil(math.Sqrt(float64(n)))), 1))
	case checkpointBlock, checkpointSelective, checkpointRatio:
	}
	list := pieces(n, 1)
	if p.kind == checkpointRatio {
		for i := range list {
			list[i].Checkpoint = math.Floor(float64(i+1)*p.ratio) > math.Floor(float64(i)*p.ratio)
		}
	}
	return list
}

func pieces(n, size int) []Segment {
	var list []Segment
	for from := 0; from < n; from += size {
		list = append(list, Segment{From: from, To: min(from+size, n), Checkpoint: true})
	}
	return list
}

// String returns the policy as ParsePolicy reads it: "none", "block",
// "every=2", "sqrt", "ratio=0.5", "selective", "selective=linear+attention"
// or "layers=h.0+h.2".
func (p Policy) String() string {
	switch p.kind {
	case checkpointBlock:
		return "block"
	case checkpointEvery:
		return "every=" + strconv.Itoa(p.every)
	case checkpointSqrt:
		return "sqrt"
	case checkpointRatio:
		return "ratio=" + strconv.FormatFloat(p.ratio, 'g', -1, 64)
	case checkpointSelective:
		if slices.Equal(p.keep, SelectiveRoles) {
			return "selective"
		}
		return "selective=" + strings.Join(p.keep, "+")
	case checkpointLayers:
		return "layers=" + strings.Join(p.layers, "+")
	case checkpointNone:
	}
	return "none"
}

// ParsePolicy is the inverse of Policy.String.
func ParsePolicy(text string) (Policy, error) {
	name, value, given := strings.Cut(text, "=")
	switch {
	case name == "every" && given:
		if k, err := strconv.Atoi(value); err == nil && k > 0 {
			return Every(k), nil
		}
	case name == "ratio" && given:
		if r, err := strconv.ParseFloat(value, 64); err == nil && r >= 0 && r <= 1 {
			return Ratio(r), nil
		}
	case name == "selective" && given && value != "":
		return parseSelective(strings.Split(value, "+"))
	case name == "layers" && given && !slices.Contains(strings.Split(value, "+"), ""):
		return Layers(strings.Split(value, "+")...), nil
	case !given:
		if p, ok := plainPolicies[name]; ok {
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("checkpoint policy %q: want none, block, every=K, sqrt, ratio=R (0 to 1), selective or layers=NAME+NAME", text)
}

// parseSelective refuses unknown operations, because they would keep nothing.
func parseSelective(roles []string) (Policy, error) {
	known := autograd.Operations()
	for _, role := range roles {
		if !slices.Contains(known, role) {
			return Policy{}, fmt.Errorf("checkpoint policy selective: there is no operation %q: %s are known", role, strings.Join(known, ", "))
		}
	}
	return Selective(roles...), nil
}

var plainPolicies = map[string]Policy{
	"none": {}, "block": PerBlock(), "sqrt": SqrtN(), "selective": Selective(),
}
