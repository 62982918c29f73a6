package traintest

import (
	"math/rand/v2"

	"github.com/memtop/memtop/engine/train"
)

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
			Leaks:  &Tensors{"workspace", "positions", "cached table", Steps * 4096 * 4},
			during: checkpoints,
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

// Innocent returns runs that leak nothing, though some look like it.
func Innocent() map[string]Run {
	random := rand.New(rand.NewPCG(1, 2))
	var mixed [Steps + 2]int
	for i := range mixed {
		mixed[i] = 8 * (1 + random.IntN(window/8))
	}
	return map[string]Run{
		"steady":                    {About: "every step is like the one before"},
		"growing sequences":         {About: "samples get longer by a token in every step", length: func(step int) int { return min(20+step, window) }},
		"growing in stairs":         {About: "samples get longer in every eighth step", length: func(step int) int { return min(16+step/8*8, window) }},
		"shrinking sequences":       {About: "samples get shorter", length: func(step int) int { return max(window-step, 8) }},
		"alternating shapes":        {About: "long and short samples take turns", length: func(step int) int { return 16 + step%2*32 }},
		"mixed shapes":              {About: "samples have any length", length: func(step int) int { return mixed[step] }},
		"a warming cache":           {About: "a cache is filled in the first steps", during: warming(12)},
		"a cache that warms longer": {About: "a cache is filled in half of the steps", during: warming(Steps / 2)},
		"a table for each length":   {About: "a cache has an entry for each length of sample", length: func(step int) int { return mixed[step] }, during: tables(mixed[:])},
		"the last few":              {About: "what the last eight steps made is kept", during: lastFew},
		"now and then":              {About: "every tenth step makes something and drops it", during: evaluation},
		"weights averaged":          {About: "in step 10, a copy of the weights is made", during: averaging},
		"checkpoints come and go":   {About: "checkpointing is switched on and off", during: checkpoints},
		"mixed precision":           {About: "bf16 from step 15 on", during: once(15, "amp", "bf16")},
		"another optimizer":         {About: "Lion instead of AdamW, then AdamW again", during: optimizers},
		"more state":                {About: "AdamW instead of SGD", during: moreState},
		"in parts":                  {About: "batches run in parts, then at once", during: parts},
	}
}

// warming fills a cache in the first n steps.
func warming(n int) func(r *running, step int) {
	return func(r *running, step int) { r.keep(step%n, "rotary", "cached table", 2048) }
}

// tables keeps something for each length.
func tables(lengths []int) func(r *running, step int) {
	return func(r *running, step int) { r.keep(lengths[step], "rotary", "cached table", 64*lengths[step]) }
}

func lastFew(r *running, step int) {
	r.keep(step, "metrics", "window", 1024)
	if step > 8 {
		r.drop(step - 8)
	}
}

func evaluation(r *running, step int) {
	if step%10 == 0 {
		r.keep(step, "evaluation", "logits", 1<<14)
	} else if step%10 == 1 && step > 1 {
		r.drop(step - 1)
	}
}

func averaging(r *running, step int) {
	if step == 10 {
		for i := range 8 {
			r.keep(i, "average", "weight", 4096)
		}
	}
}

func once(at int, key, value string) func(r *running, step int) {
	return func(r *running, step int) {
		if step == at {
			r.change(key, value)
		}
	}
}

func checkpoints(r *running, step int) {
	switch step {
	case 9, 23:
		r.change("checkpoint", "block")
	case 16, 30:
		r.change("checkpoint", "none")
	}
}

func optimizers(r *running, step int) {
	switch step {
	case 12:
		r.change("optimizer", "lion")
	case 24:
		r.change("optimizer", "adamw")
	}
}

func moreState(r *running, step int) {
	switch step {
	case 1:
		r.change("optimizer", "sgd")
	case 20:
		r.change("optimizer", "adamw")
	}
}

func parts(r *running, step int) {
	switch step {
	case 10:
		r.change("accumulate", "2")
	case 20:
		r.change("accumulate", "1")
	case 30:
		r.change("micro_batch", "1")
	}
}
