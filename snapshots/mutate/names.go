package mutate

import (
	"math/rand/v2"
	"strings"
)

// nameParts are what names of functions are made of, and what code that
// shortens them looks for.
var nameParts = []string{
	"a", "b", "at", "c10", "torch", "native", "operator()", "operator<<", "operator->", "~Tensor", "forward", "<module>", "<lambda>", "<listcomp>",
	"(anonymous namespace)", "{lambda(auto)#1}", "std::vector<std::pair<int, a::b>>", "void", "const", "[clone .isra.0]", "@plt", "+0x1f",
	"(", ")", "()", "(int, a::b)", "<", ">", "<a, b<c>>", "[", "]", "{", "}", "*", "&", "&&", "...", ",", "$_0", "#2", "é", "日本",
}

var nameJoints = []string{"::", "::", "::", "::", ".", "/", " ", "", ":", "->", "::::"}

var fileNames = []string{
	"??", "??", "??", "", "/", "//", "a/", "/a", ".", "..", "train.py", "/home/user/train.py", "<frozen importlib._bootstrap>", "<string>", ":0", "a:b:c", "C:\\train.py",
	"::", "??:0", "CUDACachingAllocator.cpp", "/usr/lib/python3.12/site-packages/torch/nn/modules/linear.py", "site-packages/", "torch/", "model.cu", "💥/x.py",
}

// functionName returns a name of any shape, most like those of C++.
func functionName(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(7) {
		b.WriteString(choose(r, nameParts))
		b.WriteString(choose(r, nameJoints))
	}
	name := b.String()
	if r.IntN(3) > 0 {
		name = strings.TrimRight(name, ":./-> ")
	}
	return name
}
