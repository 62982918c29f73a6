package attach

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Set is described at [trace.Controller].
func (c *Client) Set(ctx context.Context, key, value string) (trace.Change, error) {
	made, err := c.Change(ctx, []trace.Value{{Key: key, Value: value}})
	if err != nil {
		return trace.Change{}, err
	}
	return made[0], nil
}

// errUnknownChange is the error of an answer about other changes.
var errUnknownChange = errors.New("it does not say what became of the change")

// Change changes several settings, all at the begin of one step, and returns the
// changes as the program recorded them. The error is a [*HeldError] while another
// viewer is changing settings. A read-only client sends nothing.
func (c *Client) Change(ctx context.Context, wanted []trace.Value) ([]trace.Change, error) {
	if c.o.ReadOnly {
		return nil, errReadOnly
	}
	return c.now.Load().asker.change(ctx, wanted, 0)
}

// change asks for values from a step on; 0 is the next step.
func (a *asker) change(ctx context.Context, wanted []trace.Value, step int64) ([]trace.Change, error) {
	request := struct {
		Set map[string]string `json:"set"`
		At  int64             `json:"at,omitempty"`
	}{make(map[string]string, len(wanted)), step}
	for _, v := range wanted {
		request.Set[v.Key] = v.Value
	}
	var answer protocol.Settings
	if err := a.post(ctx, "/v1/settings", request, &answer); err != nil {
		return nil, err
	}
	if len(answer.Changes) != len(wanted) {
		return nil, a.endpoint.malformed("answer", errUnknownChange)
	}
	return answer.Changes, nil
}

// Predict asks what the changes would do together, without making them. It
// returns nil when the program cannot say. A program that does not know this
// request is an error.
func (c *Client) Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error) {
	answer, err := c.foresee(ctx, question(changes))
	return answer.Predicted, err
}

// question asks what changes would do together.
func question(changes []trace.Value) url.Values {
	query := make(url.Values)
	if len(changes) == 1 { // programs of all versions understand this form
		query.Set("key", changes[0].Key)
		query.Set("value", changes[0].Value)
		return query
	}
	for _, v := range changes {
		query.Add("set", v.Key+"="+v.Value)
	}
	return query
}

// Headroom asks how many samples at a time would fit into a capacity in bytes,
// with some changes made; the capacity 0 is the whole device. It changes nothing.
// It returns nil when the program cannot say. A program that does not know this
// request is an error.
func (c *Client) Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error) {
	query := url.Values{"capacity": {strconv.FormatInt(capacity, 10)}}
	for _, v := range changes {
		query.Add("set", v.Key+"="+v.Value)
	}
	answer, err := c.foresee(ctx, query)
	return answer.Headroom, err
}

func (c *Client) foresee(ctx context.Context, query url.Values) (answer protocol.Prediction, err error) {
	if c.o.ReadOnly {
		return answer, errReadOnly
	}
	return c.now.Load().asker.foresee(ctx, query)
}

func (a *asker) foresee(ctx context.Context, query url.Values) (answer protocol.Prediction, err error) {
	from, err := a.get(ctx, "/v1/prediction?"+query.Encode())
	if err != nil {
		return answer, err
	}
	err = from.readJSON(maxAnswer, &answer)
	return answer, err
}
