package main

import (
	"math/rand/v2"
	"slices"
)

const (
	trimmed   = 10 // one in so many is left out at either end
	resampled = 10_000
)

// estimate returns the trimmed mean of a list, and its 95 % interval by
// resampling.
func estimate(list []float64) (mean, low, high float64) {
	mean = trimmedMean(slices.Clone(list))
	random := rand.New(rand.NewPCG(1, 2))
	means, again := make([]float64, resampled), make([]float64, len(list))
	for i := range means {
		for k := range again {
			again[k] = list[random.IntN(len(list))]
		}
		means[i] = trimmedMean(again)
	}
	slices.Sort(means)
	return mean, means[resampled*25/1000], means[resampled*975/1000]
}

// trimmedMean returns the mean without the extremes, and sorts the list.
func trimmedMean(list []float64) float64 {
	slices.Sort(list)
	cut := len(list) / trimmed
	sum := 0.0
	for _, x := range list[cut : len(list)-cut] {
		sum += x
	}
	return sum / float64(len(list)-2*cut)
}
