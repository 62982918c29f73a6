package tensor

import "github.com/memtop/memtop/engine/device"

// flatten describes a copy with as few dimensions as it can be: extents of 1
// are dropped, and dimensions that are contiguous in both are joined. A device
// copies long rows faster, and knows at most eight dimensions.
func flatten(dst, src *Tensor) (d, s device.Strided, shape []int) {
	d, s = dst.strided(), src.strided()
	var to, from []int
	for i, extent := range dst.shape {
		if extent == 1 {
			continue
		}
		last := len(shape) - 1
		if last >= 0 && to[last] == d.Strides[i]*extent && from[last] == s.Strides[i]*extent {
			shape[last] *= extent
			to[last], from[last] = d.Strides[i], s.Strides[i]
			continue
		}
		shape, to, from = append(shape, extent), append(to, d.Strides[i]), append(from, s.Strides[i])
	}
	d.Strides, s.Strides = to, from
	return d, s, shape
}
