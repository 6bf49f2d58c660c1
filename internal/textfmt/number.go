package textfmt

import (
	"fmt"
	"strconv"
)

// Count formats a number with thousands separators: "14,000".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	out := digits[max(0, len(digits)-3):]
	for rest := digits[:max(0, len(digits)-3)]; rest != ""; rest = rest[:max(0, len(rest)-3)] {
		out = rest[max(0, len(rest)-3):] + "," + out
	}
	return sign + out
}

// CountNoun formats a number with its noun: "1 object", "14,000 objects".
func CountNoun(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "entry" {
		return Count(n) + " entries"
	}
	return Count(n) + " " + noun + "s"
}

// ByteCount formats bytes for people: "96 B", "9.4 KiB", "1.2 MiB".
func ByteCount(n int64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n < 0:
		return "-" + ByteCount(max(-n, -(n+1))) // which keeps the smallest number's opposite in range
	case n < kib:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1000*kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < 1000*mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gib)
}
