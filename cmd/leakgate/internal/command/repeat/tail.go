package repeat

import (
	"strings"
	"sync"
)

// maxTail is how much of the end of an output is kept.
const maxTail = 4 << 10

// A tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text = append(t.text, b...); len(t.text) > maxTail {
		t.text = append([]byte(nil), t.text[len(t.text)-maxTail:]...)
	}
	return len(b), nil
}

// said returns the output as lines of their own below a message, "" if there is none.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "\n    it printed:\n        " + strings.ReplaceAll(text, "\n", "\n        ")
}
