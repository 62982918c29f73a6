package cuda

// Symbol is an entry point of the driver.
type Symbol int

// The entry points that are used. A name has the suffix _v2 where the driver
// keeps the first version of a function under the plain name.
const (
	cuInit Symbol = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetUUID
	cuDeviceGetAttribute
	cuDeviceTotalMem
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuCtxSynchronize
	cuMemAlloc
	cuMemFree
	cuMemGetInfo
	cuMemHostAlloc
	cuMemFreeHost
	cuMemHostRegister
	cuMemHostUnregister
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemsetD8Async
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuStreamWaitEvent
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventQuery
	cuEventSynchronize
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuFuncSetAttribute
	cuLaunchKernel
	cuMemAddressReserve
	cuMemAddressFree
	cuMemCreate
	cuMemRelease
	cuMemMap
	cuMemUnmap
	cuMemSetAccess
	symbolCount = int(iota)
)

// symbolNames are their names in the library.
var symbolNames = [symbolCount]string{
	cuInit:                    "cuInit",
	cuDriverGetVersion:        "cuDriverGetVersion",
	cuGetErrorName:            "cuGetErrorName",
	cuGetErrorString:          "cuGetErrorString",
	cuDeviceGet:               "cuDeviceGet",
	cuDeviceGetName:           "cuDeviceGetName",
	cuDeviceGetUUID:           "cuDeviceGetUuid_v2",
	cuDeviceGetAttribute:      "cuDeviceGetAttribute",
	cuDeviceTotalMem:          "cuDeviceTotalMem_v2",
	cuDevicePrimaryCtxRetain:  "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease: "cuDevicePrimaryCtxRelease_v2",
	cuCtxSetCurrent:           "cuCtxSetCurrent",
	cuCtxSynchronize:          "cuCtxSynchronize",
	cuMemAlloc:                "cuMemAlloc_v2",
	cuMemFree:                 "cuMemFree_v2",
	cuMemGetInfo:              "cuMemGetInfo_v2",
	cuMemHostAlloc:            "cuMemHostAlloc",
	cuMemFreeHost:             "cuMemFreeHost",
	cuMemHostRegister:         "cuMemHostRegister_v2",
	cuMemHostUnregister:       "cuMemHostUnregister",
	cuMemcpyHtoDAsync:         "cuMemcpyHtoDAsync_v2",
	cuMemcpyDtoHAsync:         "cuMemcpyDtoHAsync_v2",
	cuMemcpyDtoDAsync:         "cuMemcpyDtoDAsync_v2",
	cuMemsetD8Async:           "cuMemsetD8Async",
	cuStreamCreate:            "cuStreamCreate",
	cuStreamDestroy:           "cuStreamDestroy_v2",
	cuStreamSynchronize:       "cuStreamSynchronize",
	cuStreamWaitEvent:         "cuStreamWaitEvent",
	cuEventCreate:             "cuEventCreate",
	cuEventDestroy:            "cuEventDestroy_v2",
	cuEventRecord:             "cuEventRecord",
	cuEventQuery:              "cuEventQuery",
	cuEventSynchronize:        "cuEventSynchronize",
	cuModuleLoadDataEx:        "cuModuleLoadDataEx",
	cuModuleUnload:            "cuModuleUnload",
	cuModuleGetFunction:       "cuModuleGetFunction",
	cuFuncSetAttribute:        "cuFuncSetAttribute",
	cuLaunchKernel:            "cuLaunchKernel",
	cuMemAddressReserve:       "cuMemAddressReserve",
	cuMemAddressFree:          "cuMemAddressFree",
	cuMemCreate:               "cuMemCreate",
	cuMemRelease:              "cuMemRelease",
	cuMemMap:                  "cuMemMap",
	cuMemUnmap:                "cuMemUnmap",
	cuMemSetAccess:            "cuMemSetAccess",
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
