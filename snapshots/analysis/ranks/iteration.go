package ranks

// Iteration is what the ranks of a job held at one moment of it. Of each folder with
// their snapshots there is one.
type Iteration struct {
	Path string
	Rows []Row
}

// Highest returns the rank with the highest peak, nil if no peak is known.
func (i *Iteration) Highest() *Row {
	if all := most(compare(i.Rows).measured(), func(r *Row) int64 { return r.PeakAllocated }); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Grown returns the rank whose peak rose most since an earlier iteration, as it was and
// as it is; nil if no rank is known in both.
func (i *Iteration) Grown(since *Iteration) (before, after *Row) {
	known := make(map[int]*Row)
	for _, r := range compare(since.Rows).measured() {
		known[r.Rank.Rank] = r
	}
	rise := func(r *Row) int64 { return r.PeakAllocated - known[r.Rank.Rank].PeakAllocated }
	both := where(compare(i.Rows).measured(), func(r *Row) bool { return known[r.Rank.Rank] != nil && r.Rank.Rank != Unranked })
	if both = most(both, rise); len(both) == 0 {
		return nil, nil
	}
	return known[both[0].Rank.Rank], both[0]
}
