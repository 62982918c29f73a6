package weights

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/tensor"
)

// Assign gives the parameters of a model the values of the arrays with their
// names. Every parameter must be found, with its shape; arrays that no parameter
// asks for are returned by name.
//
// Names may have the prefixes that training scripts add, and a GPT's may be
// those of the original GPT-2. There, and in models made from it, the weights of
// linear layers may be transposed; that is recognised by the projection to
// queries, keys and values, whose sides differ.
func Assign(parameters []*autograd.Variable, arrays []Array) (unused []string, err error) {
	found := make(map[string]*Array, len(arrays))
	for i := range arrays {
		found[canonical(arrays[i].Name)] = &arrays[i]
	}
	transposed := conv1d(found)
	for _, p := range parameters {
		a := found[p.Name()]
		if a == nil {
			return nil, fmt.Errorf("there is no array %q in it, of shape %v", p.Name(), p.Data().Shape())
		}
		delete(found, p.Name())
		if transposed && isProjection(p.Name()) {
			a = a.transpose()
		}
		if !slices.Equal(a.Shape, []int(p.Data().Shape())) {
			return nil, fmt.Errorf("%s is of shape %v in it, and of %v in this model", a.Name, tensor.Shape(a.Shape), p.Data().Shape())
		}
		if err := tensor.Try(func() { tensor.Write(p.Data(), a.Values) }); err != nil {
			return nil, err
		}
	}
	for _, a := range found {
		unused = append(unused, a.Name)
	}
	slices.Sort(unused)
	return unused, nil
}

// prefixes are what wrappers put before the names of a model.
var prefixes = []string{"state_dict.", "model.", "module.", "_orig_mod.", "transformer."}

// renamed are GPT-2's own names, and ours.
var renamed = strings.NewReplacer(
	".attn.c_attn.", ".attn.qkv.", ".attn.c_proj.", ".attn.proj.",
	".mlp.c_fc.", ".mlp.fc.", ".mlp.c_proj.", ".mlp.proj.",
)

func canonical(name string) string {
	for again := true; again; {
		again = false
		for _, p := range prefixes {
			if rest, ok := strings.CutPrefix(name, p); ok {
				name, again = rest, true
			}
		}
	}
	return renamed.Replace(name)
}

// isProjection reports whether a name is of a weight that GPT-2 has transposed.
func isProjection(name string) bool {
	return strings.HasSuffix(name, ".weight") && (strings.Contains(name, ".attn.") || strings.Contains(name, ".mlp."))
}

// conv1d reports whether linear layers are stored with inputs first.
func conv1d(found map[string]*Array) bool {
	a := found["h.0.attn.qkv.weight"]
	return a != nil && len(a.Shape) == 2 && a.Shape[1] == 3*a.Shape[0]
}

func (a *Array) transpose() *Array {
	if len(a.Shape) != 2 {
		return a
	}
	rows, cols := a.Shape[0], a.Shape[1]
	t := &Array{Name: a.Name, Shape: []int{cols, rows}, Values: make([]float32, len(a.Values))}
	for r := range rows {
		for c := range cols {
			t.Values[c*rows+r] = a.Values[r*cols+c]
		}
	}
	return t
}
