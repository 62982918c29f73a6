package savings

import "github.com/memtop/memtop/snapshots/trace"

// Layers returns how many layers the weights are of, 0 if they are not of layers that
// are alike.
func (s *Scene) Layers() int {
	weights := func(p *Part) bool { return p.Category == trace.Parameter }
	l := s.layers(weights)
	if l.many < fewestLayers || !s.most(weights, func(p *Part) bool { return p.Count%int(l.many) == 0 }) {
		return 0
	}
	return int(l.many)
}

// most reports whether nine tenths of the bytes of some parts are of blocks that fit.
func (s *Scene) most(of, fits func(p *Part) bool) bool {
	t := s.sum(of)
	return s.sum(func(p *Part) bool { return of(p) && p.Stack > trace.EmptyStack && fits(p) }).bytes*10 >= t.bytes*9
}
