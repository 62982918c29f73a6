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

// Progress returns how many of its layers a forward pass is through, as far as what
// they keep shows, and how much they all will keep in bytes. It is nothing if that does
// not show: layers are not alike, or the pass is in its last layer or through. A line of
// a layer has made a block for each layer that is through, and none or one more for the
// layer that the pass is in.
func (s *Scene) Progress() (done, of int, all int64) {
	kept := func(p *Part) bool { return p.Category == trace.Activation && p.Stack > trace.EmptyStack }
	of = s.Layers()
	most := int64(0)
	for through := 1; through < of; through++ {
		by := func(p *Part) bool { return kept(p) && (p.Count == through || p.Count == through+1) }
		if bytes := s.sum(by).bytes; bytes > 0 && bytes >= most {
			most, done, all = bytes, through, s.layer(by)*int64(of)
		}
	}
	whole := s.sum(func(p *Part) bool { return p.Category == trace.Activation }).bytes
	if most == 0 || most*10 < whole*9 || done == of-1 {
		return 0, 0, 0
	}
	return done, of, all
}

// layer returns the bytes of one block of each part.
func (s *Scene) layer(fits func(p *Part) bool) int64 {
	var bytes int64
	for i := range s.Parts {
		if p := &s.Parts[i]; fits(p) {
			bytes += p.Size
		}
	}
	return bytes
}

// most reports whether nine tenths of the bytes of some parts are of blocks that fit.
func (s *Scene) most(of, fits func(p *Part) bool) bool {
	t := s.sum(of)
	return s.sum(func(p *Part) bool { return of(p) && p.Stack > trace.EmptyStack && fits(p) }).bytes*10 >= t.bytes*9
}
