package cudatest

import (
	"fmt"

	"github.com/memtop/memtop/engine/device/cuda"
)

// The results that calls return.
const (
	success        cuda.Result = 0
	invalidValue   cuda.Result = 1
	outOfMemory    cuda.Result = 2
	notInitialized cuda.Result = 3
	invalidDevice  cuda.Result = 101
	invalidContext cuda.Result = 201
	noBinary       cuda.Result = 209
	unknownSymbol  cuda.Result = 500
	notReady       cuda.Result = 600
	launchFailed   cuda.Result = 719
)

var resultNames = map[cuda.Result][2]string{
	invalidValue:   {"CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	outOfMemory:    {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	notInitialized: {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	invalidDevice:  {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	invalidContext: {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	noBinary:       {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
	unknownSymbol:  {"CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	700:            {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	launchFailed:   {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
}

// entries implement the calls, with the driver locked. The words are the
// function's arguments in order.
var entries = map[string]func(*Driver, []uintptr) cuda.Result{
	"cuInit":                       func(d *Driver, _ []uintptr) cuda.Result { d.started = true; return success },
	"cuDriverGetVersion":           func(_ *Driver, a []uintptr) cuda.Result { put32(a[0], 12040); return success },
	"cuGetErrorName":               func(d *Driver, a []uintptr) cuda.Result { return d.say(a, 0) },
	"cuGetErrorString":             func(d *Driver, a []uintptr) cuda.Result { return d.say(a, 1) },
	"cuDeviceGet":                  (*Driver).device,
	"cuDeviceGetName":              (*Driver).deviceName,
	"cuDeviceGetUuid_v2":           func(_ *Driver, a []uintptr) cuda.Result { copy(bytesAt(a[0], 16), "a test's device."); return success },
	"cuDeviceGetAttribute":         (*Driver).attribute,
	"cuDeviceTotalMem_v2":          func(d *Driver, a []uintptr) cuda.Result { put64(a[0], uint64(d.options.Capacity)); return success },
	"cuDevicePrimaryCtxRetain":     (*Driver).retain,
	"cuDevicePrimaryCtxRelease_v2": func(d *Driver, _ []uintptr) cuda.Result { d.context--; return success },
	"cuCtxSetCurrent":              (*Driver).setCurrent,
	"cuCtxSynchronize":             func(d *Driver, _ []uintptr) cuda.Result { return d.runAll() },
	"cuMemAlloc_v2":                (*Driver).alloc,
	"cuMemFree_v2":                 (*Driver).free,
	"cuMemGetInfo_v2": func(d *Driver, a []uintptr) cuda.Result {
		put64(a[0], uint64(d.options.Capacity-d.used))
		put64(a[1], uint64(d.options.Capacity))
		return success
	},
	"cuMemHostAlloc":       (*Driver).hostAlloc,
	"cuMemFreeHost":        (*Driver).hostFree,
	"cuMemHostRegister_v2": (*Driver).register,
	"cuMemHostUnregister":  (*Driver).hostFree,
	"cuMemcpyHtoDAsync_v2": (*Driver).toDevice,
	"cuMemcpyDtoHAsync_v2": (*Driver).toHost,
	"cuMemcpyDtoDAsync_v2": (*Driver).within,
	"cuMemsetD8Async":      (*Driver).set,
	"cuStreamCreate":       (*Driver).streamCreate,
	"cuStreamDestroy_v2":   (*Driver).streamDestroy,
	"cuStreamSynchronize":  func(d *Driver, a []uintptr) cuda.Result { return d.stream(a[0]).run(-1) },
	"cuStreamWaitEvent":    (*Driver).streamWait,
	"cuEventCreate":        (*Driver).eventCreate,
	"cuEventDestroy_v2":    func(d *Driver, a []uintptr) cuda.Result { delete(d.events, uint64(a[0])); return success },
	"cuEventRecord":        (*Driver).eventRecord,
	"cuEventQuery":         (*Driver).eventQuery,
	"cuEventSynchronize":   func(d *Driver, a []uintptr) cuda.Result { return d.event(a[0]).wait() },
	"cuModuleLoadDataEx":   (*Driver).moduleLoad,
	"cuModuleUnload":       func(d *Driver, a []uintptr) cuda.Result { delete(d.modules, uint64(a[0])); return success },
	"cuModuleGetFunction":  (*Driver).function,
	"cuFuncSetAttribute":   func(*Driver, []uintptr) cuda.Result { return success },
	"cuLaunchKernel":       (*Driver).launchKernel,
	"cuMemAddressReserve":  (*Driver).reserve,
	"cuMemAddressFree":     (*Driver).unreserve,
	"cuMemCreate":          (*Driver).create,
	"cuMemRelease":         (*Driver).releasePiece,
	"cuMemMap":             (*Driver).mapPiece,
	"cuMemUnmap":           (*Driver).unmapPiece,
	"cuMemSetAccess":       (*Driver).allow,
}

// say writes the address of a text about a result.
func (d *Driver) say(a []uintptr, which int) cuda.Result {
	names, ok := resultNames[cuda.Result(a[0])]
	if !ok {
		put64(a[1], 0)
		return invalidValue
	}
	text := d.texts[names[which]]
	if text == nil {
		text = append([]byte(names[which]), make([]byte, 1024)...)
		d.texts[names[which]] = text
	}
	put64(a[1], uint64(address(text)))
	return success
}

func (d *Driver) device(a []uintptr) cuda.Result {
	if int(a[1]) >= d.options.Devices {
		return invalidDevice
	}
	put32(a[0], uint32(a[1]))
	return success
}

func (d *Driver) deviceName(a []uintptr) cuda.Result {
	name := fmt.Sprintf("Device %d of a test", a[2])
	copy(bytesAt(a[0], int(a[1])), name+"\x00")
	return success
}

func (d *Driver) attribute(a []uintptr) cuda.Result {
	mapping := uint32(1)
	if d.options.NoMapping {
		mapping = 0
	}
	v, ok := map[uintptr]uint32{16: 4, 75: uint32(d.options.Major), 76: uint32(d.options.Minor), 102: mapping}[a[1]]
	if !ok {
		return invalidValue
	}
	put32(a[0], v)
	return success
}

func (d *Driver) retain(a []uintptr) cuda.Result {
	d.context++
	put64(a[0], 1<<16+uint64(a[1]))
	return success
}

func (d *Driver) setCurrent(a []uintptr) cuda.Result {
	if a[0] < 1<<16 || d.context == 0 {
		return invalidContext
	}
	return success
}
