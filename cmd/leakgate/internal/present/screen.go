package present

import (
	"io"
	"sync"
	"unicode/utf8"
)

// clearLine returns to the start of the terminal's line and empties it.
const clearLine = "\r\x1b[K"

// A Screen is a writer of text that can keep one status line below it. It is safe for concurrent use.
type Screen struct {
	mu     sync.Mutex
	w      io.Writer
	width  func() int // of the terminal; nil if w is none: there is no status line then
	status string
	shown  bool
}

// NewScreen returns a screen on w; width is the terminal's, in columns, or nil if w is not a terminal.
func NewScreen(w io.Writer, width func() int) *Screen { return &Screen{w: w, width: width} }

// Live reports whether status lines are shown.
func (s *Screen) Live() bool { return s.width != nil }

// Write writes p above the status line, which is gone until the next SetStatus.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.hide(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

// Beside returns a writer that writes to w without disturbing the status line: for a stream of text
// that may end up on the same terminal.
func (s *Screen) Beside(w io.Writer) io.Writer { return beside{s, w} }

type beside struct {
	screen *Screen
	w      io.Writer
}

func (b beside) Write(p []byte) (int, error) {
	b.screen.mu.Lock()
	defer b.screen.mu.Unlock()
	if err := b.screen.hide(); err != nil {
		return 0, err
	}
	return b.w.Write(p)
}

// SetStatus shows text as the status line, cut to the terminal's width; "" removes it.
func (s *Screen) SetStatus(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.width == nil || s.shown && text == s.status {
		return
	}
	if s.hide() != nil || text == "" {
		return
	}
	if _, err := io.WriteString(s.w, cut(text, s.width()-1)); err == nil {
		s.status, s.shown = text, true
	}
}

func (s *Screen) hide() error {
	if !s.shown {
		return nil
	}
	s.shown = false
	_, err := io.WriteString(s.w, clearLine)
	return err
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width])
}
