package lines

import (
	"slices"
	"strings"
)

// packageFolders are where Python's package managers put what they install.
var packageFolders = [...]string{"site-packages/", "dist-packages/"}

// packagesIn returns where the path of an installed package's file goes on below
// the folder of packages, −1 when the file is in none.
func packagesIn(file string) int {
	for _, folder := range packageFolders {
		if at := strings.LastIndex(file, folder); at == 0 || at > 0 && file[at-1] == '/' {
			return at + len(folder)
		}
	}
	return -1
}

// vendorFolders are where projects keep the code of others.
var vendorFolders = [...]string{"third_party/", "thirdparty/", "third-party/", "vendor/", "vendored/", "_vendor/"}

// copied are files of libraries that projects copy into their tree, by paths that a
// project of its own would hardly have.
var copied = [...]string{
	"accelerate/accelerator.py", "accelerate/hooks.py", "bitsandbytes/optim/", "deepspeed/runtime/", "diffusers/models/", "diffusers/pipelines/",
	"diffusers/schedulers/", "flash_attn/modules/", "flash_attn/flash_attn_interface.py", "lightning/pytorch/", "megatron/core/", "open_clip/transformer.py", "peft/peft_model.py",
	"peft/tuners/", "pytorch_lightning/", "timm/layers/", "timm/models/", "torchvision/models/", "transformers/activations.py", "transformers/generation/",
	"transformers/integrations/", "transformers/modeling_", "transformers/models/", "transformers/optimization.py", "transformers/pytorch_utils.py", "transformers/trainer",
	"vllm/model_executor/", "vllm/worker/", "xformers/ops/",
}

// within reports whether one of several parts of a path begins at a folder of a file's.
func within(file string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.HasPrefix(file, part) || strings.Contains(file, "/"+part)
	})
}

// mostLibraries bounds how many standard libraries a trace may have. A program has one.
const mostLibraries = 16

// learn notes where the standard library is: its folder holds that of packages,
// also on Windows, where nothing else about its path tells.
func (c *Code) learn(file string) {
	at := packagesIn(file)
	if at < 0 {
		return
	}
	root := file[:at-len(packageFolders[0])]
	folder := strings.ToLower(root[strings.LastIndexByte(strings.TrimSuffix(root, "/"), '/')+1:])
	known := len(c.library) == mostLibraries || slices.Contains(c.library, root)
	if (folder == "lib/" || strings.HasPrefix(folder, "python3")) && !known {
		c.library = append(c.library, root)
	}
}

// isStandard knows files of the standard library, and of what debuggers and
// notebooks run a program in.
func (c *Code) isStandard(file string) bool {
	return packagesIn(file) < 0 && (ContainsAny(file, "/lib/python3", "/lib64/python3", "/cpython-", "/debugpy/", "/pydevd") ||
		slices.ContainsFunc(c.library, func(root string) bool { return strings.HasPrefix(file, root) }))
}

// isPyTorch knows PyTorch's own files, installed or built from source.
func isPyTorch(file string) bool {
	if at := packagesIn(file); at >= 0 {
		return hasPrefix(file[at:], "torch/", "triton/", "torchgen/")
	}
	at := strings.LastIndex(file, "/torch/")
	return at >= 0 && hasPrefix(file[at+len("/torch/"):], "nn/", "optim/", "autograd/", "utils/", "_dynamo/", "_inductor/", "_functorch/",
		"_higher_order_ops/", "_library/", "_prims", "_refs/", "_subclasses/", "_decomp/", "ao/", "distributed/", "cuda/", "amp/", "fx/", "jit/",
		"functional.py", "random.py", "serialization.py", "storage.py", "_tensor", "_ops.py", "_compile.py", "_jit_internal.py", "_utils.py",
		"__init__.py", "_meta_registrations.py", "_lobpcg.py", "_linalg_utils.py", "hub.py", "multiprocessing/", "func/", "export/", "masked/",
		"sparse/", "fft/", "linalg/", "special/", "testing/", "profiler/", "package/", "overrides.py", "backends/", "nested/", "distributions/", "signal/")
}

// isGenerated knows Python that no one wrote.
func isGenerated(file string) bool {
	return ContainsAny(file, "torchinductor", "torch_compile_debug") ||
		hasPrefix(file, "<frozen", "<eval_with_key>", "<string>", "<decorator-gen", "<attrs generated", "<__array_function__", "<lambdifygenerated",
			"<torch_package", "<unknown>")
}

// IsPython reports whether a frame's file is one of Python, also a notebook's or
// generated.
func IsPython(file string) bool {
	return strings.HasSuffix(file, ".py") || strings.HasPrefix(file, "<") || strings.Contains(file, "/ipykernel")
}

// IsGo reports whether a frame's file is one of Go.
func IsGo(file string) bool { return strings.HasSuffix(file, ".go") }

// Slashed returns a path with the separators of Unix.
func Slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// ContainsAny reports whether a text has any of the parts.
func ContainsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}
