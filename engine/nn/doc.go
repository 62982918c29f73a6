// Package nn provides layers and models on top of package autograd.
//
// A [Module] owns parameters and other modules, and computes one value from
// others. Modules call each other only through [Ctx.Call]: it opens the frame
// that releases what the module does not return, tags memory with the module's
// path, runs hooks, and keeps the table of what every layer costs
// ([Ctx.Layers]).
//
// [Build] makes models: it gives every parameter a name, a place on the device
// and its first values. Layers are initialised as in PyTorch, and GPT as GPT-2.
// Equal seeds give equal values, in whatever order the layers are made.
//
// Shapes that do not fit are the caller's bug and panic. Like a tape, a model
// and its Ctx belong to one goroutine.
package nn
