package screen

// Rect is a part of a canvas, in cells.
type Rect struct{ X, Y, W, H int }

// Clip returns the part of r that lies in o.
func (r Rect) Clip(o Rect) Rect {
	x0, y0 := max(r.X, o.X), max(r.Y, o.Y)
	x1, y1 := min(r.X+r.W, o.X+o.W), min(r.Y+r.H, o.Y+o.H)
	return Rect{x0, y0, max(x1-x0, 0), max(y1-y0, 0)}
}

// Contains reports whether the cell at x, y is in r.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && y >= r.Y && x < r.X+r.W && y < r.Y+r.H
}

// Top cuts n rows off the top, and returns them and the rest below.
func (r Rect) Top(n int) (top, below Rect) {
	n = min(max(n, 0), r.H)
	return Rect{r.X, r.Y, r.W, n}, Rect{r.X, r.Y + n, r.W, r.H - n}
}

// Bottom cuts n rows off the bottom, and returns the rest above and them.
func (r Rect) Bottom(n int) (above, bottom Rect) {
	n = min(max(n, 0), r.H)
	return r.Top(r.H - n)
}

// Left cuts n columns off the left, and returns them and the rest.
func (r Rect) Left(n int) (left, beside Rect) {
	n = min(max(n, 0), r.W)
	return Rect{r.X, r.Y, n, r.H}, Rect{r.X + n, r.Y, r.W - n, r.H}
}

// Right cuts n columns off the right, and returns the rest and them.
func (r Rect) Right(n int) (beside, right Rect) {
	n = min(max(n, 0), r.W)
	return r.Left(r.W - n)
}
