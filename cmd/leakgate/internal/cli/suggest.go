package cli

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/textfmt"
)

// DidYouMean returns a question for the nearest name, to end a message; "" if none is near.
func DidYouMean(typed string, names []string) string {
	if near := textfmt.Nearest(typed, names, max(2, len(typed)/3)); len(near) > 0 {
		return fmt.Sprintf("; did you mean %s?", near[0])
	}
	return ""
}
