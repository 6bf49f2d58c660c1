package cli

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/editdistance"
)

// nearest returns the name that a mistyped one is most likely meant to be, "" if none is near.
func nearest(typed string, names []string) string {
	best, least := "", max(2, len(typed)/3)+1
	for _, name := range names {
		d := editdistance.Of(strings.ToLower(typed), strings.ToLower(name), least)
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// DidYouMean asks for the name that is nearest, "" if none is near.
func DidYouMean(typed string, names []string) string {
	if name := nearest(typed, names); name != "" {
		return fmt.Sprintf("; did you mean %s?", name)
	}
	return ""
}
