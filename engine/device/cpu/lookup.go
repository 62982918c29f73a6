package cpu

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/device"
)

type gatherJob struct {
	dst, table, ids view
	rows, cols      int
	fail            func(format string, arguments ...any)
}

// Gather implements device.Lookups.
func (b *Backend) Gather(dst, table, ids device.Array, rows, cols int) {
	device.CheckIndex("gather", ids.DType)
	if dst.DType != table.DType {
		panic(fmt.Sprintf("cpu: gather: from %v to %v", table.DType, dst.DType))
	}
	fail := b.jobs.gather.fail
	if fail == nil {
		fail = b.fail
	}
	b.jobs.gather = gatherJob{
		b.view("gather", "dst", dst, ids.Len*cols), b.view("gather", "table", table, rows*cols),
		b.view("gather", "ids", ids, ids.Len), rows, cols, fail,
	}
	b.pool.run(&b.jobs.gather, rowParts(ids.Len, cols))
}

func (j *gatherJob) run(_ *worker, part int) {
	bytes := j.cols * int(j.dst.kind.Size())
	eachRow(part, j.ids.n, j.cols, func(i int) {
		dst := slice[byte](j.dst, i*bytes, bytes)
		id := j.ids.index(i)
		if id < 0 || id >= int64(j.rows) {
			j.fail("gather: id %d at position %d is outside of a table of %d rows", id, i, j.rows)
			clear(dst)
			return
		}
		copy(dst, slice[byte](j.table, int(id)*bytes, bytes))
	})
}

// scatterJob adds rows. A part is a block of columns and goes through all ids, so
// that rows with the same id are added in order.
type scatterJob struct {
	table, src view
	places     []uint64 // id and place of each row of src, in order
	cols       int
	wide       bool
}

const scatterCols = 64

// ScatterAdd implements device.Lookups.
func (b *Backend) ScatterAdd(table, src, ids device.Array, rows, cols int) {
	device.CheckIndex("scatter add", ids.DType)
	device.CheckFloat("scatter add", table.DType, src.DType)
	j := &b.jobs.scatter
	*j = scatterJob{
		table: b.view("scatter add", "table", table, rows*cols), src: b.view("scatter add", "src", src, ids.Len*cols),
		places: j.places[:0], cols: cols, wide: device.Wide(table.DType, src.DType),
	}
	list := b.view("scatter add", "ids", ids, ids.Len)
	for i := range ids.Len {
		id := list.index(i)
		if id < 0 || id >= int64(rows) {
			b.fail("scatter add: id %d at position %d is outside of a table of %d rows", id, i, rows)
			return
		}
		j.places = append(j.places, uint64(id)<<32|uint64(i))
	}
	slices.Sort(j.places)
	b.pool.run(j, (cols+scatterCols-1)/scatterCols)
}

func (j *scatterJob) run(w *worker, part int) {
	inType(j.wide, scatterPart[float64], scatterPart[float32])(w, j, part)
}

func scatterPart[T float](w *worker, j *scatterJob, part int) {
	col := part * scatterCols
	n := min(scatterCols, j.cols-col)
	total := scratch[T](w, slotC, n)
	for i, place := range j.places {
		id := place >> 32
		x := load[T](w, slotA, j.src, int(uint32(place))*j.cols+col, n)
		if i == 0 || j.places[i-1]>>32 != id {
			copy(total, x)
		} else {
			combine(device.Add, total, total, x)
		}
		if i == len(j.places)-1 || j.places[i+1]>>32 != id {
			at := int(id)*j.cols + col
			row := load[T](w, slotB, j.table, at, n)
			combine(device.Add, row, row, total)
			store(j.table, at, row)
		}
	}
}
