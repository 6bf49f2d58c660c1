package drive

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// maxOutput is how many bytes of a call's output are kept from its start, and as many from its end.
// The rest is read and discarded.
const maxOutput = 2 << 10

// keptCalls is the number of calls whose output is kept, besides the last call. The first calls are
// those that try functions out.
const keptCalls = 4096

// An output receives what a process prints, and keeps the start and the end of each call's output.
type output struct {
	mu       sync.Mutex
	function string // of the last mark
	call     int
	calls    map[int]*clip
	line     []byte // what may be the beginning of a mark
}

// A clip is the start and the end of a text.
type clip struct {
	head, tail []byte
	cut        bool
}

func (c *clip) add(text []byte) {
	if room := maxOutput - len(c.head); room > 0 {
		n := min(room, len(text))
		c.head = append(c.head, text[:n]...)
		text = text[n:]
	}
	if len(text) > maxOutput {
		text, c.cut = text[len(text)-maxOutput:], true
	}
	c.tail = append(c.tail, text...)
	if over := len(c.tail) - maxOutput; over > maxOutput { // seldom, so that little is moved
		c.tail, c.cut = append([]byte(nil), c.tail[over:]...), true
	}
}

func (c *clip) String() string {
	if c == nil {
		return ""
	}
	text := string(c.head)
	if c.cut {
		text += "\n...\n"
	}
	return strings.TrimSpace(strings.ToValidUTF8(text+string(c.tail), "?"))
}

// Write takes the next piece of output. It never fails: the process must not wait for its reader.
func (o *output) Write(piece []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := append(o.line, piece...)
	o.line = nil
	for {
		i := bytes.Index(rest, []byte(repeat.Mark))
		if i < 0 {
			break
		}
		end := bytes.IndexByte(rest[i:], '\n')
		if end < 0 && len(rest)-i > maxOutput {
			break // it only looks like a mark
		}
		if end < 0 {
			o.clip().add(rest[:i])
			o.line = bytes.Clone(rest[i:])
			return len(piece), nil
		}
		o.clip().add(rest[:i])
		number, name, _ := strings.Cut(string(rest[i+len(repeat.Mark):i+end]), " ")
		if n, err := strconv.Atoi(number); err == nil {
			if o.call > keptCalls {
				delete(o.calls, o.call)
			}
			o.call, o.function = n, name
		}
		rest = rest[i+end+1:]
	}
	// A mark begins with a zero byte, which may be among the last bytes received.
	if i := bytes.LastIndexByte(rest, repeat.Mark[0]); i >= 0 && len(rest)-i < len(repeat.Mark) {
		o.line = bytes.Clone(rest[i:])
		rest = rest[:i]
	}
	o.clip().add(rest)
	return len(piece), nil
}

// clip returns the clip of the current call.
func (o *output) clip() *clip {
	if o.calls == nil {
		o.calls = make(map[int]*clip)
	}
	c := o.calls[o.call]
	if c == nil {
		c = new(clip)
		o.calls[o.call] = c
	}
	return c
}

// of returns what a call printed.
func (o *output) of(call int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[call].String()
}

// last returns what was printed since the last mark.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[o.call].String()
}
