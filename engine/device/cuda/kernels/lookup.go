package kernels

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
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
	Table, Src, IDs            device.Array
	Rows, Cols, Low, High      int64
	Failure, Next, Last, State uint64
}

// The most places of a block that links equal ids, and the most places of a
// launch: their links take half of the scratch memory, and the ids' last places
// the other half.
const (
	scatterTile   = 1024
	scatterPlaces = ScratchBytes / 2 / 5
)

// ScatterAdd implements device.Lookups. It first links the places of equal ids to
// a list, so that each row is read once. An id outside the table does not affect
// the other rows.
func (c *Compute) ScatterAdd(table, src, ids device.Array, rows, cols int) {
	device.CheckIndex("scatter add", ids.DType)
	checkTypes("scatter add", table.DType, src.DType)
	device.CheckLen("scatter add", "table", table, rows*cols)
	device.CheckLen("scatter add", "src", src, ids.Len*cols)
	if ids.Len > scatterPlaces {
		panic(fmt.Sprintf("kernels: scatter add of %d rows, more than %d at a time", ids.Len, scatterPlaces))
	}
	a := scatterArgs{
		Table: table, Src: src, IDs: ids, Rows: int64(rows), Cols: int64(cols), Failure: c.failure,
		Next: c.scratch.Addr, State: c.scratch.Addr + uint64(4*ids.Len), Last: c.scratch.Addr + ScratchBytes/2,
	}
	threads, tile := rowThreads(4*cols), uint32(min(scatterTile, 32*ceil(ids.Len, 32)))
	grid := [3]uint32{uint32(ids.Len), uint32(ceil(cols, int(threads))), 1}
	for a.Low = 0; a.Low < a.Rows; a.Low = a.High {
		a.High = min(a.Rows, a.Low+c.scatterIDs)
		launch(c, ScatterTiles, line(ceil(ids.Len, scatterTile)), tile, 0, a)
		launch(c, ScatterChain, line(min(ids.Len, 1)), tile, 0, a)
		launch(c, Scatter, grid, threads, 0, a)
	}
}
