package series

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
)

// Show writes a series as "objects: 56 → 112 → 224 → 448 after 56, 112, 224 and 448 calls".
func (s *Series) Show(what string) string {
	values, calls := make([]string, len(s.Values)), make([]string, len(s.Calls))
	for i, v := range s.Values {
		values[i], calls[i] = textfmt.Count(v), textfmt.Count(s.Calls[i])
	}
	return fmt.Sprintf("%s: %s after %s calls", what, strings.Join(values, " → "), textfmt.Enumerate(calls))
}

// ShowFurther writes the further batches as "16 → 32 after 80 and 112".
func (s *Series) ShowFurther() string {
	values, calls := make([]string, len(s.More)), make([]string, len(s.More))
	for i, v := range s.More {
		values[i], calls[i] = textfmt.Count(v), textfmt.Count(s.MoreCalls[i])
	}
	return strings.Join(values, " → ") + " after " + textfmt.Enumerate(calls)
}

// PerCallText is "+1.00".
func PerCallText(s Series) string { return fmt.Sprintf("%+.2f", s.PerCall()) }

// NounPerCall is "+1.00 goroutine" or "+0.50 goroutines".
func NounPerCall(s Series, noun string) string {
	rate := PerCallText(s)
	if rate != "+1.00" {
		noun += "s"
	}
	return rate + " " + noun
}

// BytesPerCall is "1.5 B", or "4.2 KiB".
func BytesPerCall(n float64) string {
	if n < 10 {
		return strconv.FormatFloat(n, 'f', 1, 64) + " B"
	}
	return textfmt.ByteCount(int64(math.Round(n)))
}
