package cli

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
)

// nearest returns the name that a mistyped one most likely stands for; "" if none is near.
func nearest(typed string, names []string) string {
	best, least := "", max(2, len(typed)/3)+1
	for _, name := range names {
		d := textfmt.EditDistance(strings.ToLower(typed), strings.ToLower(name), least)
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// DidYouMean returns a question for the nearest name, to end a message; "" if none is near.
func DidYouMean(typed string, names []string) string {
	if name := nearest(typed, names); name != "" {
		return fmt.Sprintf("; did you mean %s?", name)
	}
	return ""
}
