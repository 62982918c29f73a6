// Package train runs training steps: it joins a model, an optimizer, mixed
// precision and data, and says after each step what it cost.
//
// # A step
//
// A [Trainer] reads its [Settings], one immutable value behind a pointer, once
// at the top of each step, so that anybody may put another value there at any
// time and it holds for a whole step or not at all. Then it takes a batch, runs
// it forward and backward in parts of MicroBatch samples, unscales and clips the
// gradients, lets the optimizer change the parameters, and releases the
// gradients. The loss of an [Event] is that of the whole batch, so neither the
// parts nor checkpoints change it.
//
// # What is in memory
//
// After a step, allocated memory is exactly the parameters, the optimizer's
// state and the inputs, to the byte. Where reserved memory is at any moment,
// [Memory] says: the six categories of allocations and four kinds of
// fragmentation, which add up.
//
// # Who looks on
//
// A step's begin and end, and every setting that changed, are events of the
// allocator: a change is the first thing that happens in the step that uses it,
// and what it does to memory belongs to that step. [Trainer.Report] says of a
// step what the allocator does not know, such as the layer table; it costs some
// microseconds. [Trainer.Options], [Trainer.Change] and [Trainer.Predict] are for
// those who want to change something while the run goes on, from any goroutine.
//
// # When things go wrong
//
// Memory that is not there ends a step with one [OutOfMemoryError]; the trainer
// is whole and may take the step again with other settings, which a [Budget] does
// by itself. [Trainer.Save] writes all that a run needs to go on, as a whole file
// or not at all, and [Open] refuses a damaged one.
//
// A Trainer belongs to one goroutine, except for what says otherwise.
package train
