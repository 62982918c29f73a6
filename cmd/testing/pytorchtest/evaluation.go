package pytorchtest

import "github.com/memtop/memtop/snapshots/trace"

// PinnedEvaluation returns the trace of a program that runs out of memory because
// of fragmentation. It evaluates ten batches and keeps all of their outputs, then
// only the scores: 2 MiB in each segment of 20 MiB, which no request of training
// fits into and which cannot be given back.
func PinnedEvaluation() *trace.Trace {
	const (
		batches = 10
		output  = 9 << 20
		scores  = 2 << 20
		logits  = 64 << 20
	)
	r := newTraining()
	r.at(call{torch + "nn/modules/linear.py", 112, "__init__"}, call{"/home/user/model.py", 30, "__init__"}, main)
	r.get(32 << 20)
	evaluate := call{"/home/user/evaluate.py", 20, "evaluate"}
	var outputs []*block
	for range batches {
		r.at(call{torch + "nn/modules/linear.py", 134, "forward"}, callModel, call{"/home/user/model.py", 70, "forward"}, evaluate, main)
		outputs = append(outputs, r.get(output))
		r.at(call{torch + "nn/functional.py", 2140, "softmax"}, call{"/home/user/evaluate.py", 33, "probabilities"}, evaluate, main)
		outputs = append(outputs, r.get(output))
		r.at(call{"/home/user/evaluate.py", 41, "keep_scores"}, evaluate, main)
		r.get(scores)
	}
	r.drop(outputs...)
	r.at(call{torch + "nn/modules/linear.py", 134, "forward"}, callModel, call{"/home/user/model.py", 70, "forward"}, trainStep, main)
	r.get(logits)
	return r.trace(0)
}
