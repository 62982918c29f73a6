package imitation

import (
	"embed"
	"path/filepath"
	"strings"

	"github.com/memtop/memtop/engine/device/cuda/prebuilt"
)

//go:embed built/MANIFEST built/*.zst
var built embed.FS

// Library is what answers instead of CUDA's libraries.
var Library = prebuilt.Library{Name: "libmemtop-imitation.so", Built: built}

// Install puts the library for this machine into a folder, under the names of all
// libraries that it stands for. See [prebuilt.Library.Install].
func Install(folder string) error { return Library.Install(folder, links...) }

// links are the names under which programs look for the driver and for NVML. They
// also include the libraries of CUDA 11, 12 and 13, for a PyTorch that was
// installed without them. A PyTorch that has these libraries finds its own first,
// and calls nothing in them.
var links = strings.Fields(`libcuda.so.1 libcuda.so libnvidia-ml.so.1
	libcudart.so.11.0 libcudart.so.12 libcudart.so.13 libcublas.so.11 libcublas.so.12 libcublas.so.13
	libcublasLt.so.11 libcublasLt.so.12 libcublasLt.so.13 libcudnn.so.8 libcudnn.so.9 libnccl.so.2
	libcufft.so.10 libcufft.so.11 libcufft.so.12 libcurand.so.10 libcusolver.so.11 libcusolver.so.12
	libcusparse.so.11 libcusparse.so.12 libcusparseLt.so.0 libcupti.so.12 libcupti.so.13 libcufile.so.0
	libnvrtc.so.12 libnvrtc.so.13 libnvJitLink.so.12 libnvJitLink.so.13 libnvshmem_host.so.3 libnvToolsExt.so.1`)

// Environment returns an environment in which programs load the library that is
// installed in a folder, and also the libraries that they would load without it.
// All other variables stay the same.
func Environment(environ []string, folder string) []string {
	changed := prebuilt.Prepend(environ, "LD_PRELOAD", filepath.Join(folder, Library.Name))
	return prebuilt.Prepend(changed, "LD_LIBRARY_PATH", folder)
}
