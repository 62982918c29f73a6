package trace

import (
	"encoding/json"
	"testing"
)

func TestAPredictionOfAnEarlierProgramIsRead(t *testing.T) {
	var c Change
	const text = `{"id": 1, "key": "amp", "predicted": {"peak_allocated_bytes": -4, "step_time_ns": 7, "step_time_off_ns": 2, "step_time_known": true}}`
	if err := json.Unmarshal([]byte(text), &c); err != nil || *c.Predicted != (Prediction{PeakAllocated: -4}) {
		t.Errorf("got %+v and %v", c.Predicted, err)
	}
}
