package alloc

import (
	"math/bits"
	"strconv"
)

// roundup reads roundup_power2_divisions: one number for all sizes, or a list
// of SIZE:NUMBER with the sizes in MiB, powers of two, ascending. The first
// number also holds for all smaller sizes; ">" stands for all sizes after the
// last. (Before 2.10, PyTorch's ">" changes the last as well.)
func (p *parser) roundup() error {
	if p.at < len(p.tokens) && p.tokens[p.at] == "[" {
		p.at++
		return p.roundupList()
	}
	n, err := p.number()
	if err != nil {
		return err
	}
	if bits.OnesCount64(uint64(n)) != 1 {
		return p.fail("%d divisions, not a power of two", n)
	}
	for i := range p.c.Divisions {
		p.c.Divisions[i] = n
	}
	return nil
}

func (p *parser) roundupList() error {
	first, last := true, 0
	for {
		size := p.next()
		if size == "]" {
			return nil
		}
		if err := p.mark(":"); err != nil {
			return err
		}
		divisions, err := p.number()
		if err != nil {
			return err
		}
		if bits.OnesCount64(uint64(divisions)) > 1 {
			return p.fail("%d divisions, neither 0 nor a power of two", divisions)
		}
		if last, err = p.bucket(size, divisions, first, last); err != nil {
			return err
		}
		first = false
		if p.at < len(p.tokens) && p.tokens[p.at] == "]" {
			continue
		}
		if err := p.mark(","); err != nil {
			return err
		}
	}
}

// bucket sets the divisions of one entry of the list and returns which size it
// was for.
func (p *parser) bucket(size string, divisions int64, first bool, last int) (int, error) {
	if size == ">" {
		from := last + 1
		if p.rules.laterSizesAndLast() {
			from = last
		}
		for i := from; i < len(p.c.Divisions); i++ {
			p.c.Divisions[i] = divisions
		}
		return last, nil
	}
	n, err := strconv.ParseUint(size, 10, 63)
	if err != nil || bits.OnesCount64(n) != 1 {
		return 0, p.fail("size %q is not a power of two", size)
	}
	index := min(bits.Len64(n)-1, len(p.c.Divisions)-1)
	if first {
		for i := range index {
			p.c.Divisions[i] = divisions
		}
	}
	p.c.Divisions[index] = divisions
	return index, nil
}
