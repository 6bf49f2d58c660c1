package present

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes writes n with three digits or so: "512 B", "1.5 KiB", "12.0 MiB".
func Bytes(n int64) string {
	if -1024 < n && n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		f /= 1024
		if -1024 < f && f < 1024 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TiB", f/1024)
}

// percentText writes part of whole, rounded down, so that only all of it is 100 %.
func percentText(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	tenths := int64(float64(part) / float64(whole) * 1000)
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// pauseText writes nanoseconds as milliseconds.
func pauseText(ns int64) string {
	return fmt.Sprintf("%.1f ms", float64(ns)/float64(time.Millisecond))
}

// Plural writes a number with its noun: "1 bound", "2 bounds".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
