package weights

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// zeros makes parameters by name.
func zeros(t *testing.T, shapes map[string]tensor.Shape) map[string]*autograd.Variable {
	t.Helper()
	d := tensortest.Device(t)
	list := make(map[string]*autograd.Variable)
	for name, shape := range shapes {
		list[name] = autograd.NewVariable(name, tensor.Full(d, shape, device.Float32, 0, tensor.Tag{}))
	}
	t.Cleanup(func() {
		for _, v := range list {
			v.Close()
		}
	})
	return list
}

func values(m map[string]*autograd.Variable) []*autograd.Variable {
	var list []*autograd.Variable
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

func TestAssignFindsNamesOfOthers(t *testing.T) {
	shapes := map[string]tensor.Shape{"wte.weight": {2, 2}, "h.0.attn.qkv.weight": {6, 2}, "h.0.attn.proj.weight": {2, 2}}
	embedding, square := []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}
	qkv := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	tests := map[string]struct {
		arrays []Array
		proj   []float64
		qkv    []float64
	}{
		"our own": {
			[]Array{
				{"wte.weight", []int{2, 2}, embedding},
				{"h.0.attn.qkv.weight", []int{6, 2}, qkv},
				{"h.0.attn.proj.weight", []int{2, 2}, square},
				{"lm_head.weight", []int{2, 2}, embedding},
			},
			[]float64{5, 6, 7, 8},
			[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		},
		"a compiled and wrapped model's": {
			[]Array{
				{"model._orig_mod.transformer.wte.weight", []int{2, 2}, embedding},
				{"model._orig_mod.transformer.h.0.attn.c_attn.weight", []int{6, 2}, qkv},
				{"model._orig_mod.transformer.h.0.attn.c_proj.weight", []int{2, 2}, square},
				{"model._orig_mod.lm_head.weight", []int{2, 2}, embedding},
			},
			[]float64{5, 6, 7, 8},
			[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		},
		"GPT-2's, with inputs first": {
			[]Array{
				{"wte.weight", []int{2, 2}, embedding},
				{"h.0.attn.c_attn.weight", []int{2, 6}, qkv},
				{"h.0.attn.c_proj.weight", []int{2, 2}, square},
				{"lm_head.weight", []int{2, 2}, embedding},
			},
			[]float64{5, 7, 6, 8},
			[]float64{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parameters := zeros(t, shapes)
			unused, err := Assign(values(parameters), test.arrays)
			fatal.If(t, err)
			if len(unused) != 1 || !strings.HasSuffix(unused[0], "lm_head.weight") {
				t.Errorf("unused: %v, want the head's weight", unused)
			}
			for name, want := range map[string][]float64{
				"wte.weight": {1, 2, 3, 4}, "h.0.attn.proj.weight": test.proj, "h.0.attn.qkv.weight": test.qkv,
			} {
				equal.Values(t, name, want, parameters[name].Data().Floats())
			}
		})
	}
}

func TestAssignRefusesWhatDoesNotFit(t *testing.T) {
	tests := map[string]struct {
		arrays []Array
		want   string
	}{
		"nothing":       {nil, `no array "w"`},
		"another shape": {[]Array{{"w", []int{3}, []float32{1, 2, 3}}}, "shape [3] in it, and of [2]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Assign(values(zeros(t, map[string]tensor.Shape{"w": {2}})), slices.Clone(test.arrays))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one that says %q", err, test.want)
			}
		})
	}
}
