package cpu

// Sums are carried in float64 and in four strands, which are added at the end:
// always in the same order for the same length.

func sum[T float](x []T) float64 {
	var s0, s1, s2, s3 float64
	for len(x) >= 4 {
		s0 += float64(x[0])
		s1 += float64(x[1])
		s2 += float64(x[2])
		s3 += float64(x[3])
		x = x[4:]
	}
	for _, v := range x {
		s0 += float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}

func dot[T float](x, y []T) float64 {
	var s0, s1, s2, s3 float64
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s0 += float64(x[0]) * float64(y[0])
		s1 += float64(x[1]) * float64(y[1])
		s2 += float64(x[2]) * float64(y[2])
		s3 += float64(x[3]) * float64(y[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += float64(v) * float64(y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// deviation returns Σ (x−mean)².
func deviation[T float](x []T, mean float64) float64 {
	var s0, s1 float64
	for len(x) >= 2 {
		d0, d1 := float64(x[0])-mean, float64(x[1])-mean
		s0 += d0 * d0
		s1 += d1 * d1
		x = x[2:]
	}
	for _, v := range x {
		s0 += (float64(v) - mean) * (float64(v) - mean)
	}
	return s0 + s1
}

// maximum returns the largest of x, and NaN when there is one.
func maximum[T float](x []T) T {
	m := x[0]
	for _, v := range x {
		if v > m || v != v {
			m = v
			if v != v {
				break
			}
		}
	}
	return m
}
