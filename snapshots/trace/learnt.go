package trace

// Learnt is a verdict on a site whose memory grows. A viewer needs many steps to reach it. It
// tells the program's probe, which tells the viewers that come later. Sizes are bytes.
type Learnt struct {
	Site          string `json:"site"`
	Verdict       string `json:"verdict"`
	Bytes         int64  `json:"bytes"`
	Count         int    `json:"count"`
	GrowthPerStep int64  `json:"growth_bytes_per_step"`
	StepsObserved int    `json:"steps_observed"`
	Reason        string `json:"reason"`
	Step          int64  `json:"learnt_at_step"`
	Allocated     int64  `json:"allocated_bytes"` // by the program at that step, on that device
}

// MostLearnt is how many verdicts a probe keeps.
const MostLearnt = 64
