//go:build linux

package kernels_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// nvrtc loads NVIDIA's run-time compiler, if the machine has it: from MEMTOP_NVRTC
// or where the loader finds it.
func nvrtc(t *testing.T) func(symbol string, arguments ...uintptr) uintptr {
	t.Helper()
	name := os.Getenv("MEMTOP_NVRTC")
	if name == "" {
		name = "libnvrtc.so.12"
	}
	library, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Skip("no NVRTC, which MEMTOP_NVRTC may name: ", err)
	}
	return func(symbol string, arguments ...uintptr) uintptr {
		address, err := purego.Dlsym(library, symbol)
		if err != nil {
			t.Fatal(err)
		}
		result, _, _ := purego.SyscallN(address, arguments...)
		return result & 0xffffffff
	}
}

// cText returns text that ends in 0, and its address, which is valid for as long
// as the test runs.
func cText(pin *runtime.Pinner, text string) uintptr {
	b := append([]byte(text), 0)
	pin.Pin(&b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

func TestNVRTCCompilesTheSameSources(t *testing.T) {
	call := nvrtc(t)
	var pin runtime.Pinner
	defer pin.Unpin()
	dir := t.TempDir()
	err := source.Each(func(name string, text []byte) error { return os.WriteFile(filepath.Join(dir, name), text, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range source.Modules {
		t.Run(m.Name, func(t *testing.T) {
			text := nvrtcCompile(t, &pin, call, dir, m)
			for k := range kernels.Count {
				if int(kernels.ModuleOf(k)) == i && !strings.Contains(text, ".entry "+k.String()+"(") {
					t.Errorf("NVRTC's module has no kernel %v", k)
				}
			}
		})
	}
}

// nvrtcCompile compiles a module, whose sources are in dir, with NVRTC.
func nvrtcCompile(t *testing.T, pin *runtime.Pinner, call func(string, ...uintptr) uintptr, dir string, m source.Module) string {
	t.Helper()
	program := new(uintptr)
	pin.Pin(program)
	if code := call("nvrtcCreateProgram", uintptr(unsafe.Pointer(program)), cText(pin, m.Text()), cText(pin, "kernels.cu"), 0, 0, 0); code != 0 {
		t.Fatalf("nvrtcCreateProgram: %d", code)
	}
	options := []uintptr{
		cText(pin, "--gpu-architecture="+strings.Replace(source.Least, "sm", "compute", 1)), cText(pin, "--std=c++17"), cText(pin, "--fmad=false"),
		cText(pin, "-I"+dir), cText(pin, "--device-as-default-execution-space"),
	}
	pin.Pin(&options[0])
	if code := call("nvrtcCompileProgram", *program, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0]))); code != 0 {
		t.Fatalf("nvrtcCompileProgram: %d\n%s", code, nvrtcText(t, pin, call, "ProgramLog", *program))
	}
	return nvrtcText(t, pin, call, "PTX", *program)
}

func nvrtcText(t *testing.T, pin *runtime.Pinner, call func(string, ...uintptr) uintptr, what string, program uintptr) string {
	t.Helper()
	size := new(uint64)
	pin.Pin(size)
	if code := call("nvrtcGet"+what+"Size", program, uintptr(unsafe.Pointer(size))); code != 0 {
		t.Fatalf("nvrtcGet%sSize: %d", what, code)
	}
	text := make([]byte, *size+1)
	pin.Pin(&text[0])
	if code := call("nvrtcGet"+what, program, uintptr(unsafe.Pointer(&text[0]))); code != 0 {
		t.Fatalf("nvrtcGet%s: %d", what, code)
	}
	return strings.TrimRight(string(text[:*size]), "\x00")
}
