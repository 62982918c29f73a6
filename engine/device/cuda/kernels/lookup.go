package kernels

import (
	"fmt"

	"memtop/engine/device"
)

type gatherArgs struct {
	Dst, Table, IDs device.Array
	Rows, Units     int64
	Failure         uint64
	Unit            int32
}

// Gather implements device.Lookups.
func (c *Compute) Gather(dst, table, ids device.Array, rows, cols int) {
	device.CheckIndex("gather", ids.DType)
	if dst.DType != table.DType {
		panic(fmt.Sprintf("kernels: gather: from %v to %v", table.DType, dst.DType))
	}
	device.CheckLen("gather", "dst", dst, ids.Len*cols)
	device.CheckLen("gather", "table", table, rows*cols)
	bytes := uint64(cols) * uint64(dst.DType.Size())
	unit := uint64(16)
	for (dst.Addr|table.Addr|bytes)%unit != 0 {
		unit /= 2
	}
	launch(c, Gather, line(ids.Len), rowThreads(4*int(bytes/unit)), 0, gatherArgs{
		dst, table, ids, int64(rows), int64(bytes / unit), c.failure, int32(unit),
	})
}

type scatterArgs struct {
	Table, Src, IDs device.Array
	Rows, Cols      int64
	Failure         uint64
}

// ScatterAdd implements device.Lookups.
// An id outside the table does not affect the other rows.
func (c *Compute) ScatterAdd(table, src, ids device.Array, rows, cols int) {
	device.CheckIndex("scatter add", ids.DType)
	device.CheckFloat("scatter add", table.DType, src.DType)
	device.CheckLen("scatter add", "table", table, rows*cols)
	device.CheckLen("scatter add", "src", src, ids.Len*cols)
	threads := rowThreads(4 * cols)
	k := pick(device.Wide(table.DType, src.DType), ScatterWide, Scatter)
	launch(c, k, [3]uint32{uint32(ids.Len), uint32(ceil(cols, int(threads))), 1}, threads, 0, scatterArgs{
		table, src, ids, int64(rows), int64(cols), c.failure,
	})
}
