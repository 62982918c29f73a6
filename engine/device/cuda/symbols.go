package cuda

// Symbol is an entry point of the driver: its place in symbolNames.
type Symbol int

// The entry points that are used. A name has the suffix _v2 where the driver
// keeps the first version of a function under the plain name.
var (
	cuInit                    = entry("cuInit")
	cuDriverGetVersion        = entry("cuDriverGetVersion")
	cuGetErrorName            = entry("cuGetErrorName")
	cuGetErrorString          = entry("cuGetErrorString")
	cuDeviceGet               = entry("cuDeviceGet")
	cuDeviceGetName           = entry("cuDeviceGetName")
	cuDeviceGetUUID           = entry("cuDeviceGetUuid_v2")
	cuDeviceGetAttribute      = entry("cuDeviceGetAttribute")
	cuDeviceTotalMem          = entry("cuDeviceTotalMem_v2")
	cuDevicePrimaryCtxRetain  = entry("cuDevicePrimaryCtxRetain")
	cuDevicePrimaryCtxRelease = entry("cuDevicePrimaryCtxRelease_v2")
	cuCtxSetCurrent           = entry("cuCtxSetCurrent")
	cuCtxSynchronize          = entry("cuCtxSynchronize")
	cuMemAlloc                = entry("cuMemAlloc_v2")
	cuMemFree                 = entry("cuMemFree_v2")
	cuMemGetInfo              = entry("cuMemGetInfo_v2")
	cuMemHostAlloc            = entry("cuMemHostAlloc")
	cuMemFreeHost             = entry("cuMemFreeHost")
	cuMemHostRegister         = entry("cuMemHostRegister_v2")
	cuMemHostUnregister       = entry("cuMemHostUnregister")
	cuMemcpyHtoDAsync         = entry("cuMemcpyHtoDAsync_v2")
	cuMemcpyDtoHAsync         = entry("cuMemcpyDtoHAsync_v2")
	cuMemcpyDtoDAsync         = entry("cuMemcpyDtoDAsync_v2")
	cuMemsetD8Async           = entry("cuMemsetD8Async")
	cuStreamCreate            = entry("cuStreamCreate")
	cuStreamDestroy           = entry("cuStreamDestroy_v2")
	cuStreamSynchronize       = entry("cuStreamSynchronize")
	cuStreamWaitEvent         = entry("cuStreamWaitEvent")
	cuEventCreate             = entry("cuEventCreate")
	cuEventDestroy            = entry("cuEventDestroy_v2")
	cuEventRecord             = entry("cuEventRecord")
	cuEventQuery              = entry("cuEventQuery")
	cuEventSynchronize        = entry("cuEventSynchronize")
	cuModuleLoadDataEx        = entry("cuModuleLoadDataEx")
	cuModuleUnload            = entry("cuModuleUnload")
	cuModuleGetFunction       = entry("cuModuleGetFunction")
	cuFuncSetAttribute        = entry("cuFuncSetAttribute")
	cuLaunchKernel            = entry("cuLaunchKernel")
	cuMemAddressReserve       = entry("cuMemAddressReserve")
	cuMemAddressFree          = entry("cuMemAddressFree")
	cuMemCreate               = entry("cuMemCreate")
	cuMemRelease              = entry("cuMemRelease")
	cuMemMap                  = entry("cuMemMap")
	cuMemUnmap                = entry("cuMemUnmap")
	cuMemSetAccess            = entry("cuMemSetAccess")
)

// symbolNames are the names of the entry points in the library.
var symbolNames []string

func entry(name string) Symbol {
	symbolNames = append(symbolNames, name)
	return Symbol(len(symbolNames) - 1)
}

// String returns the function's name in the library.
func (s Symbol) String() string { return symbolNames[s] }

// Driver serves calls of the entry points. It is the driver's library, or a
// stand-in in tests.
type Driver interface {
	// Call calls a function with its arguments as words. Memory that a word
	// points to must not move until the call returns: heap memory that is still
	// referenced, or memory that Go does not manage. Safe for concurrent use.
	Call(s Symbol, args ...uintptr) Result
}
