package kernels_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// mistakes are lines of sources, and what a tired person might have written instead.
var mistakes = []struct{ module, file, line, instead string }{
	{"elementwise", "functions.h", "case relu: return x < 0 ? 0.0f : x;", "case relu: return x > 0 ? 0.0f : x;"},
	{"elementwise", "functions.h", "case gelu: math::normal(x, phi, bell); return x * phi;", "case gelu: math::normal(x, phi, bell); return x * bell;"},
	{"elementwise", "functions.h", "default: return x * math::sigmoid(x);", "default: return math::sigmoid(x);"},
	{"elementwise", "number.h", "if ((double)x >= (double)high) return high;", "if ((double)x > (double)high) return low;"},
	{"elementwise", "reduce.cu", "for (u32 i = 1; i < 8; i++) x = reduce_join", "for (u32 i = 1; i < 7; i++) x = reduce_join"},
	{"elementwise", "reduce.cu", "if (line > 0 || col >= a.inner) return;", "if (line > 0) return;"},
	{"elementwise", "lookup.cu", "if (id < 0 || id >= a.rows) {", "if (id < 0 || id > a.rows) {"},
	{"elementwise", "random.cu", "k0 += 0x9e3779b9;", "k0 += 0x9e3779b8;"},
	{"norms", "norm.cu", "float d = k < count ? x[k] - mean : 0.0f;", "float d = x[k] - mean;"},
	{"norms", "norm.cu", "barrier(); // the next row's columns may be other threads'", ""},
	{"norms", "softmax.cu", "sum *= math::exp_small(top - shift);", ""},
	{"norms", "block.h", "for (u32 w = 1; w < warps; w++)", "for (u32 w = 2; w < warps; w++)"},
	{"optimizers", "optimizer.cu", "x.v = f.beta2 * x.v + f.rest2 * d * d;", "x.v = f.beta2 * x.v + f.rest2 * d;"},
	{"optimizers", "optimizer8.cu", "if (x - map[middle] > map[middle + 1] - x) low = middle + 1;", "if (x - map[middle] > map[middle + 1] - x) low = middle;"},
	{"optimizers", "list.cu", "return {{item.addr, item.len, (u8)item.type}, from, to < item.len ? to : item.len};", "return {{item.addr, item.len, (u8)item.type}, from, to};"},
	{"matmul", "matmul.cu", "fetch(tile_b, right, k + depth, a.k);", "fetch(tile_b, right, k, a.k);"},
	{"matmul_bfloat", "matmul_tensor.h", "copy_async_wait<1>();", "copy_async_wait<2>();"},
	{"matmul_bfloat", "tensor.h", "2 * i + 1 < n ? w : 2 * i < n ? w & 0xffff : 0", "2 * i < n ? w : 0"},
	{"flash", "flash.cu", "total *= shrink;", ""},
	{"flash_bfloat", "flash_tensor.h", "if (i / 2 * 8 + i % 2 >= here) x = lowest;", "if (i / 2 * 8 + i % 2 > here) x = lowest;"},
	{"convolutions", "conv.cu", "x < a.in_width;", "x <= a.in_width;"},
}

// TestMistakesInSourcesAreNoticed compiles sources with one mistake each, and repeats the
// launches of the tests before this one with what comes out.
func TestMistakesInSourcesAreNoticed(t *testing.T) {
	if !thorough {
		t.Skip("it compiles for minutes: MEMTOP_GPU=ptx lets it")
	}
	if _, err := exec.LookPath("clang-19"); err != nil {
		t.Skip(err)
	}
	for _, m := range mistakes {
		t.Run(m.file+", "+m.instead, func(t *testing.T) {
			module, err := ptx.Parse(string(spoiltSource(t, m.module, m.file, m.line, m.instead)))
			if err != nil {
				t.Fatal(err)
			}
			tried := 0
			for k, list := range specimens {
				if kernels.ModuleOf(kernels.Kernel(k)).String() != m.module {
					continue
				}
				p, err := module.Link(kernels.Kernel(k).String())
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range list {
					tried++
					if same, err := s.repeat(p); err != nil || !same {
						return
					}
				}
			}
			t.Errorf("in %d launches nothing shows that the source is wrong", tried)
		})
	}
}

// spoiltSource compiles a module with a line changed.
func spoiltSource(t *testing.T, module, file, line, instead string) []byte {
	t.Helper()
	dir := t.TempDir()
	err := source.Each(func(name string, text []byte) error {
		if name == file {
			spoilt := bytes.Replace(text, []byte(line), []byte(instead), 1)
			if bytes.Equal(spoilt, text) {
				t.Fatalf("%s has no line %q", file, line)
			}
			text = spoilt
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	flags, _ := strings.CutPrefix(strings.Split(read(t, "modules/MANIFEST"), "\n")[1], "flags ")
	for _, m := range source.Modules {
		if m.Name == module {
			return compiledBy(t, dir, m, strings.Fields(flags))
		}
	}
	t.Fatalf("no module %s", module)
	return nil
}

func compiledBy(t *testing.T, dir string, m source.Module, flags []string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "clang-19", append(flags, "--cuda-gpu-arch="+source.Least)...)
	command.Dir, command.Stdin = dir, strings.NewReader(m.Text())
	var complaints bytes.Buffer
	command.Stderr = &complaints
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.Bytes())
	}
	return text
}
