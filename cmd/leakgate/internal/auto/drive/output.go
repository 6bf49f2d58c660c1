package drive

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// maxOutput is how much of a call's output is kept: from its start, and as much from its end. The
// rest is read and forgotten, however much it is.
const maxOutput = 2 << 10

// keptCalls is how many calls' output is kept, beside that of the last: those that try functions
// out are the first.
const keptCalls = 4096

// An output takes what a process prints, and keeps some of what each call printed.
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

// Write takes the next piece. It never fails: a process is not to wait for who reads it.
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
	// A mark begins with a zero byte, which may be the last that came.
	if i := bytes.LastIndexByte(rest, repeat.Mark[0]); i >= 0 && len(rest)-i < len(repeat.Mark) {
		o.line = bytes.Clone(rest[i:])
		rest = rest[:i]
	}
	o.clip().add(rest)
	return len(piece), nil
}

// clip is that of the current call.
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

// last returns what the last call printed, and all after it.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[o.call].String()
}
