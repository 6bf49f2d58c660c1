package series

import "math"

// KeepStep reports whether one of two rates is a small multiple of the other.
func KeepStep(a, b float64) bool {
	const most, off = 4, 0.05
	ratio := max(a, b) / min(a, b)
	times := math.Round(ratio)
	return times >= 1 && times <= most && math.Abs(ratio-times) <= off*times
}

// AboutAsMany reports whether two rates are alike. It leaves a factor of 1.5, since some threads
// come and go with how busy the program is.
func AboutAsMany(a, b float64) bool { return max(a, b) <= 1.5*min(a, b) }

// IsMultiple reports whether one rate is a whole number of times another. That holds for blocks if
// each of some objects has the same number of them.
func IsMultiple(rate, of float64) bool {
	const most, off = 100, 0.05
	times := math.Round(rate / of)
	return times >= 1 && times <= most && math.Abs(rate/of-times) <= off
}
