package main

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestLinesOfCodeCanBeChangedAndTextsCannot(t *testing.T) {
	inGo := "package p\n\nconst a = 1 // 2\n\nfunc f(n int) bool {\n\tg(\"a == b\")\n\tn++\n\treturn n+3 < 7 && !h() || true\n}\n"
	inPython := "import a in b\n\"\"\"One and\ntwo.\"\"\"\nif a and b: return c is not d\nx = 'a + b'\n"
	for file, want := range map[string]struct {
		source string
		what   []string
	}{
		"p.go": {inGo, []string{
			"6 without the call", "7 ++ → --", "8 || → &&", "8 && → ||", "8 < → <=", "8 + → -", "8 3 → (3 + 1)", "8 7 → (7 + 1)",
			"8 without !", "8 true → false",
		}},
		"p.py": {inPython, []string{"4 and → or", "4 is not → is"}},
	} {
		lines, err := inFile(file, []byte(want.source))
		fatal.If(t, err)
		var got []string
		for _, l := range lines {
			for _, m := range l.mutations {
				got = append(got, string(rune('0'+m.line))+" "+m.what)
			}
		}
		if !slices.Equal(got, want.what) {
			t.Errorf("%s has the mutations %q, want %q", file, got, want.what)
		}
	}
}

func TestOnlyFilesOfTheProductAreChanged(t *testing.T) {
	files := []string{"tui/model.go", "probe/python/memtop/watch/watch.py", "tui/model_test.go", "cmd/tools/mutate/main.go", "cmd/testing/pty/pty.go", "a/testdata/b.go"}
	kept := slices.DeleteFunc(files, func(file string) bool { return !product(file) })
	if !slices.Equal(kept, []string{"tui/model.go", "probe/python/memtop/watch/watch.py"}) {
		t.Errorf("the product is %q", kept)
	}
}
