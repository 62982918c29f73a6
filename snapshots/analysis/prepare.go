package analysis

import "sync"

// Prepare finds, on several processors at once, what most that a report says is made of,
// and returns when it is there. It changes only how soon answers come.
func (x *Index) Prepare() {
	var work sync.WaitGroup
	work.Go(func() { x.segmentHistory() })
	x.peakFacts()
	work.Wait()
}
