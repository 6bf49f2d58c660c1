package outcome

import (
	"fmt"
	"strings"
)

// maxOutput is how much of a failure's output is kept, in bytes: half from its start, half from its
// end.
const maxOutput = 32 << 10

// An outputTail keeps the start and the end of what is added to it. The zero value is empty.
type outputTail struct {
	head, tail strings.Builder
	dropped    int
}

func (o *outputTail) add(text string) {
	if o.tail.Len() == 0 && o.head.Len()+len(text) <= maxOutput/2 {
		o.head.WriteString(text)
		return
	}
	o.tail.WriteString(text)
	if o.tail.Len() > maxOutput { // twice the half, so that cutting is rare
		rest := o.tail.String()
		cut := len(rest) - maxOutput/2
		if i := strings.IndexByte(rest[cut:], '\n'); i >= 0 && cut+i+1 < len(rest) {
			cut += i + 1
		}
		o.dropped += cut
		o.tail.Reset()
		o.tail.WriteString(strings.ToValidUTF8(rest[cut:], ""))
	}
}

func (o *outputTail) String() string {
	if o.dropped == 0 {
		return o.head.String() + o.tail.String()
	}
	return fmt.Sprintf("%s... %d bytes left out ...\n%s", o.head.String(), o.dropped, o.tail.String())
}

// isFraming reports whether a test's output only says that it begins, pauses or goes on.
func isFraming(output string) bool {
	return strings.HasPrefix(output, "=== ")
}
