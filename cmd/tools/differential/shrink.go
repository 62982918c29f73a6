package main

import "slices"

// shrink returns the smallest program found that differs, and how.
func (r *round) shrink(p *program, how string) (*program, string, error) {
	for part := len(p.body) / 2; part > 0; part /= 2 {
		for at := 0; at+part <= len(p.body); {
			less := &program{p.fraction, p.late, slices.Delete(slices.Clone(p.body), at, at+part)}
			differs, err := r.try(less)
			if err != nil {
				return nil, "", err
			}
			if differs == "" {
				at += part
				continue
			}
			p, how = less, differs
		}
	}
	return p, how, nil
}
