package lines

import "testing"

func TestAGoFunctionIsNamedWithoutThePathOfItsPackage(t *testing.T) {
	for name, want := range map[string]struct{ function, path string }{
		"main.main": {"main.main", "main"},
		"github.com/memtop/memtop/engine/nn.(*Linear).Forward":  {"nn.(*Linear).Forward", "github.com/memtop/memtop/engine/nn"},
		"example.com/a/b.Map[...]":                              {"b.Map[...]", "example.com/a/b"},
		"example.com/a/b.Map[go.shape.*example.com/c/d.T].func": {"b.Map[go.shape.*example.com/c/d.T].func", "example.com/a/b"},
		"": {"", ""},
	} {
		if got := GoFunction(name); got != want.function {
			t.Errorf("the function of %q is %q, want %q", name, got, want.function)
		}
		if got := goPackage(name); got != want.path {
			t.Errorf("the package of %q is %q, want %q", name, got, want.path)
		}
	}
}
