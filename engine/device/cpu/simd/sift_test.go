package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSiftPicksWhatARowHas(t *testing.T) {
	if !Sifts(1, 1) {
		t.Skip("this processor has no instructions for it")
	}
	r := rand.New(rand.NewPCG(5, 5))
	for _, size := range [][3]int{{1, 1, 1}, {3, 2, 2}, {8, 4, 2}, {16, 16, 1}, {17, 9, 2}, {32, 16, 2}, {32, 5, 7}, {5, 7, 1}} {
		t.Run(fmt.Sprintf("%d of rows of %d, every %d", size[1], size[0], size[2]), func(t *testing.T) {
			width, n, stride := size[0], size[1], size[2]
			from := func(i int) int { return i*stride - 1 }
			s := NewSift(width, n, from)
			g := Grid{Rows: 3, Groups: 2, RowTo: n, RowFrom: 2 * width, GroupTo: 4 * n, GroupFrom: 7 * width}
			src, dst := random(r, g.GroupFrom+5*width), random(r, g.GroupTo+3*n)
			want := append([]float32(nil), dst...)
			for row := range 6 {
				for i := range n {
					x := float32(0)
					if at := from(i); at >= 0 && at < width {
						x = src[row/3*g.GroupFrom+row%3*g.RowFrom+at]
					}
					want[row/3*g.GroupTo+row%3*g.RowTo+i] = x
				}
			}
			s.Rows(dst, src, &g)
			for i := range want {
				if dst[i] != want[i] {
					t.Fatalf("number %d: got %v, want %v", i, dst[i], want[i])
				}
			}
		})
	}
}

func TestFoldAddsWhatARowHas(t *testing.T) {
	if !Sifts(1, 1) {
		t.Skip("this processor has no instructions for it")
	}
	r := rand.New(rand.NewPCG(7, 7))
	for _, size := range [][3]int{{1, 1, 1}, {3, 2, 2}, {8, 4, 2}, {16, 16, 1}, {17, 9, 2}, {32, 16, 2}, {32, 5, 7}, {5, 7, 1}} {
		t.Run(fmt.Sprintf("%d to rows of %d, every %d", size[1], size[0], size[2]), func(t *testing.T) {
			width, n, stride := size[0], size[1], size[2]
			to := func(i int) int { return i*stride - 1 }
			f := NewFold(width, n, to)
			g := Grid{Rows: 3, Groups: 2, RowTo: 2 * width, RowFrom: n, GroupTo: 7 * width, GroupFrom: 4 * n}
			dst, src := random(r, g.GroupTo+5*width), random(r, g.GroupFrom+3*n)
			want := append([]float32(nil), dst...)
			for row := range 6 {
				for i := range n {
					if at := to(i); at >= 0 && at < width {
						want[row/3*g.GroupTo+row%3*g.RowTo+at] += src[row/3*g.GroupFrom+row%3*g.RowFrom+i]
					}
				}
			}
			f.Rows(dst, src, &g)
			for i := range want {
				if dst[i] != want[i] {
					t.Fatalf("number %d: got %v, want %v", i, dst[i], want[i])
				}
			}
		})
	}
}

func TestSpreadMovesPiecesApart(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, width := range []int{4, 6, 12, 16, 32} {
		for _, n := range []int{1, width - 1, width, width + 1, 5*width + 2} {
			step := width + 3
			src, dst := random(r, n), random(r, 6*step)
			want := append([]float32(nil), dst...)
			for i, x := range src {
				want[i/width*step+i%width] = x
			}
			Spread(dst, src, width, step)
			for i := range want {
				if dst[i] != want[i] {
					t.Fatalf("%d in pieces of %d: number %d: got %v, want %v", n, width, i, dst[i], want[i])
				}
			}
		}
	}
}
