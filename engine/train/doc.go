// Package train runs training steps: it joins a model, an optimizer, mixed
// precision and data, and reports the cost of each step.
//
// # A step
//
// A [Trainer] reads its [Settings], one immutable value behind a pointer, once at
// the start of each step. So any goroutine may store another value at any time,
// and a value holds for a whole step or not at all. Then the trainer takes a
// batch, runs it forward and backward in parts of MicroBatch samples, unscales
// and clips the gradients, lets the optimizer change the parameters, and releases
// the gradients. The loss of an [Event] is that of the whole batch, so neither
// the parts nor checkpoints change it.
//
// # What is in memory
//
// After a step, allocated memory is exactly the parameters, the optimizer's state
// and the inputs, to the byte. [Memory] divides the reserved memory of a moment
// into the six categories of allocations and four kinds of fragmentation, which
// add up.
//
// # Observers
//
// A step's begin and end, and every setting that changed, are events of the
// allocator: a change is the first thing that happens in the step that uses it,
// and what it does to memory belongs to that step. [Trainer.Report] adds what the
// allocator does not know about a step, such as the layer table; it costs some
// microseconds. [Trainer.Options], [Trainer.Change] and [Trainer.Predict] are for
// callers that change settings during the run, from any goroutine.
//
// # Failures
//
// If memory runs out, the step ends with an [OutOfMemoryError]. The trainer stays
// usable and may take the step again with other settings; with a budget it does
// so by itself. [Trainer.Save] writes everything that a run needs to go on, as a
// whole file or not at all, and [Open] refuses a damaged file.
//
// A Trainer belongs to one goroutine, except for methods that say otherwise.
package train
