// Package optim turns gradients into changes of parameters.
//
// An [Optimizer] owns what must be remembered between steps, in device memory
// that is tagged as optimizer state with the role it plays. In bytes, relative
// to the parameters in float32:
//
//	SGD with momentum   1×     momentum
//	Adam, AdamW         2×     exp_avg, exp_avg_sq
//	AdamW in 8 bits     ≈ ½×   exp_avg, exp_avg_sq in bytes, a scale (absmax) per 256 of them
//	Lion                1×     exp_avg
//
// Parameters in half precision get a float32 copy, the role "master", that
// updates are added to; the parameter is rounded from it after each step.
//
// The package also has gradient clipping ([Clip]) and learning-rate schedules
// ([Schedule]). It does not know models, mixed precision or steps: package
// train calls it.
package optim
