package cpu

import "memtop/engine/device"

// unfoldJob makes rows of the unfolded matrix of a band; a part is a channel.
type unfoldJob struct {
	p         *conv
	src, dst  view
	row, rows int
}

func (b *Backend) unfold(p *conv, band device.Band) {
	b.jobs.unfold = unfoldJob{
		p: p, src: b.resolve(p.Input(p.X, band)), dst: b.resolve(p.unfolded), row: band.Row, rows: band.Rows,
	}
	b.pool.run(&b.jobs.unfold, p.InGroup)
}

func (j *unfoldJob) run(w *worker, channel int) {
	if j.p.Wide() {
		unfoldChannel[float64](w, j, channel)
	} else {
		unfoldChannel[float32](w, j, channel)
	}
}

func unfoldChannel[T float](w *worker, j *unfoldJob, channel int) {
	p := j.p
	size := p.InHeight * p.InWidth
	image := load[T](w, slotA, j.src, channel*size, size)
	taps := p.KernelHeight * p.KernelWidth
	n := j.rows * p.OutColumns
	for tap := range taps {
		dst := slice[T](j.dst, (channel*taps+tap)*n, n)
		for r := range j.rows {
			line := dst[r*p.OutColumns : (r+1)*p.OutColumns]
			y := p.inputRow(j.row+r, tap)
			if y < 0 || y >= p.InHeight {
				clear(line)
				continue
			}
			from, to, x := p.inputSpan(tap)
			clear(line[:from])
			clear(line[to:])
			src := image[y*p.InWidth : (y+1)*p.InWidth]
			for i := from; i < to; i++ {
				line[i] = src[x+(i-from)*p.StrideWidth]
			}
		}
	}
}

// inputRow returns the input row that a tap meets at an output row; it may be
// in the padding.
func (p *conv) inputRow(row, tap int) int {
	return row*p.StrideHeight - p.PadHeight + tap/p.KernelWidth*p.DilateHeight
}

// inputSpan returns the output columns for which a tap is inside of the image,
// and the input column that it meets at the first.
func (p *conv) inputSpan(tap int) (from, to, x int) {
	x = tap%p.KernelWidth*p.DilateWidth - p.PadWidth
	if x < 0 {
		from = (-x + p.StrideWidth - 1) / p.StrideWidth
	}
	to = from
	if first := x + from*p.StrideWidth; first < p.InWidth {
		to = min(p.OutColumns, from+(p.InWidth-first+p.StrideWidth-1)/p.StrideWidth)
	}
	return min(from, p.OutColumns), max(to, min(from, p.OutColumns)), x + from*p.StrideWidth
}

// foldJob adds an unfolded band to an image, the other way round; a part is a
// channel, whose elements get their sums in one order.
type foldJob struct {
	p          *conv
	src, image view // image is in the type of computation
	row, rows  int
}

func (j *foldJob) run(_ *worker, channel int) {
	if j.p.Wide() {
		foldChannel[float64](j, channel)
	} else {
		foldChannel[float32](j, channel)
	}
}

func foldChannel[T float](j *foldJob, channel int) {
	p := j.p
	size := p.InHeight * p.InWidth
	image := slice[T](j.image, channel*size, size)
	taps := p.KernelHeight * p.KernelWidth
	n := j.rows * p.OutColumns
	for tap := range taps {
		src := slice[T](j.src, (channel*taps+tap)*n, n)
		for r := range j.rows {
			y := p.inputRow(j.row+r, tap)
			if y < 0 || y >= p.InHeight {
				continue
			}
			from, to, x := p.inputSpan(tap)
			dst := image[y*p.InWidth : (y+1)*p.InWidth]
			for i := from; i < to; i++ {
				dst[x+(i-from)*p.StrideWidth] += src[r*p.OutColumns+i]
			}
		}
	}
}
