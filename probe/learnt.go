package probe

import (
	"encoding/json"
	"net/http"

	"github.com/memtop/memtop/snapshots/trace"
)

// serveLearnt keeps what a viewer has learnt of the program's leaks, for those that come
// later. A viewer tells all that still holds, so it takes the place of what was kept.
func (p *service) serveLearnt(w http.ResponseWriter, r *http.Request) error {
	body, err := p.readBody(w, r)
	if err != nil {
		return err
	}
	var told struct {
		Leaks []trace.Learnt `json:"leaks"`
	}
	if err := json.Unmarshal(body, &told); err != nil || told.Leaks == nil || len(told.Leaks) > trace.MostLearnt {
		return statusf(http.StatusBadRequest, `the body must be {"leaks": [...]} with at most %d of them`, trace.MostLearnt)
	}
	p.learnt.Store(&told.Leaks)
	return p.reply(w, http.StatusOK, struct{}{})
}
