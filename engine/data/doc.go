// Package data feeds training. It has token files, data sets that make each
// sample on demand, and a loader that prepares batches ahead of the training
// loop.
//
// # The way of a sample
//
// A [Dataset] is a numbered collection of samples that exist nowhere until
// [Dataset.Read] writes one into memory: [Windows] reads them out of a token file
// ([Open]) or the text that comes with the program ([Corpus]),
// [Spirals] and [Figures] compute theirs. A [Loader] has workers that fill
// staging buffers with whole batches; the training loop takes the batches in
// order, uploads them and gives the buffers back.
//
// # What is certain
//
// Batch number k of a seed holds the same samples in the same order, whatever
// the number of workers and wherever the loader was started. So a run is
// resumed by starting a loader at the number of batches that were taken.
//
// The package knows no device memory. A staging buffer is host memory that is
// laid out as the device expects it: little-endian elements, contiguous.
package data
