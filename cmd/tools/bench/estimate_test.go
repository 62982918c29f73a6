package main

import (
	"math/rand/v2"
	"testing"
)

func TestTheEstimateIsNotMovedByOutliers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var list []float64
	for i := range 200 {
		x := 0.5 + 0.3*random.NormFloat64()
		if i%20 == 0 {
			x += 50 // a compiler ran on the machine
		}
		list = append(list, x)
	}
	mean, low, high := estimate(list)
	if mean < 0.4 || mean > 0.65 || low > 0.5 || high < 0.5 || high-low > 0.3 {
		t.Errorf("got %.3f between %.3f and %.3f, want 0.5", mean, low, high)
	}
}

func TestTheIntervalHoldsTheTruthNearlyAlways(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const tries = 40
	held := 0
	for range tries {
		var list []float64
		for range 40 {
			list = append(list, 1+random.NormFloat64())
		}
		if _, low, high := estimate(list); low <= 1 && high >= 1 {
			held++
		}
	}
	if held < tries*85/100 {
		t.Errorf("%d of %d intervals hold the truth", held, tries)
	}
}
