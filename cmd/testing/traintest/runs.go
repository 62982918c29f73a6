package traintest

import (
	"math/rand/v2"

	"github.com/memtop/memtop/engine/train"
)

// checkpoints come and go.
var checkpoints = map[int]string{9: "checkpoint=block", 16: "checkpoint=none", 23: "checkpoint=block", 30: "checkpoint=none"}

// Leaking returns runs with a mistake in every step.
func Leaking() map[string]Run {
	return map[string]Run{
		"activations": {
			About: "the model's result is kept for a statistic", plant: train.LeakActivations,
			Leaks: &Tensors{"activation", "loss", "linear output of lm_head", Steps * batch * usual * 256 * 4},
		},
		"cache": {
			About: "a cache gets one more entry in every step", plant: train.LeakCache,
			Leaks: &Tensors{"workspace", "positions", "cached table", Steps * 4096 * 4},
		},
		"gradients": {
			About: "a gradient is remembered when gradients are dropped", plant: train.LeakGradients,
			Leaks: &Tensors{"gradient", "wte", "grad", Steps * 256 * 16 * 4},
		},
		"handle": {
			About: "a copy of the inputs is never released, and cannot be reached", plant: train.LeakHandle, Unreachable: true,
			Leaks: &Tensors{"input", "data", "copy of the input", Steps * batch * usual * 4},
		},
		"a cache, with settings that change": {
			About: "checkpoints come and go while a cache grows", plant: train.LeakCache,
			Leaks:   &Tensors{"workspace", "positions", "cached table", Steps * 4096 * 4},
			changes: checkpoints,
		},
		"activations of growing sequences": {
			About: "what is kept grows from step to step", plant: train.LeakActivations,
			// From 25 tokens to 64.
			Leaks:  &Tensors{"activation", "loss", "linear output of lm_head", (25 + window) * Steps / 2 * batch * 256 * 4},
			length: func(step int) int { return 24 + step },
		},
		"now and then": {
			About: "something is forgotten in every third step",
			Leaks: &Tensors{"workspace", "metrics", "confusion", Steps / 3 * 4096},
			during: func(r *running, step int) {
				if step%3 == 0 {
					r.keep(step, "metrics", "confusion", 1024)
				}
			},
		},
	}
}

// Innocent returns runs that leak nothing, though some look like it. What programs keep beside is in the
// made runs of package analysis.
func Innocent() map[string]Run {
	random := rand.New(rand.NewPCG(1, 2))
	var mixed [Steps + 2]int
	for i := range mixed {
		mixed[i] = 8 * (1 + random.IntN(window/8))
	}
	return map[string]Run{
		"steady":                  {About: "every step is like the one before"},
		"growing sequences":       {About: "samples get longer by a token in every step", length: func(step int) int { return min(20+step, window) }},
		"growing in stairs":       {About: "samples get longer in every eighth step", length: func(step int) int { return min(16+step/8*8, window) }},
		"shrinking sequences":     {About: "samples get shorter", length: func(step int) int { return max(window-step, 8) }},
		"alternating shapes":      {About: "long and short samples take turns", length: func(step int) int { return 16 + step%2*32 }},
		"mixed shapes":            {About: "samples have any length", length: func(step int) int { return mixed[step] }},
		"checkpoints come and go": {About: "checkpointing is switched on and off", changes: checkpoints},
		"mixed precision":         {About: "bf16 from step 15 on", changes: map[int]string{15: "amp=bf16"}},
		"another optimizer":       {About: "Lion instead of AdamW, then AdamW again", changes: map[int]string{12: "optimizer=lion", 24: "optimizer=adamw"}},
		"more state":              {About: "AdamW instead of SGD", changes: map[int]string{1: "optimizer=sgd", 20: "optimizer=adamw"}},
		"in parts":                {About: "batches run in parts, then at once", changes: map[int]string{10: "accumulate=2", 20: "accumulate=1", 30: "micro_batch=1"}},
	}
}
