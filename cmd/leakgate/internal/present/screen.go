package present

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// refreshRate is how often the area at the bottom of a terminal is drawn.
const refreshRate = 120 * time.Millisecond

// fineness is the number of parts of the bar for one step.
const fineness = 1000

// A Screen is a writer of text that, on a terminal, can keep an area below it current: a bar and
// some lines. It is safe for concurrent use.
type Screen struct {
	w io.Writer
	// of the terminal in columns, 0 if unknown; nil if w is no terminal: then there is no area
	width func() int

	mu   sync.Mutex
	area *mpb.Progress // nil while nothing is shown
	bar  *mpb.Bar
	rest []byte // a line that has not ended yet
}

// NewScreen returns a screen on w; width is the terminal's, in columns, 0 where it does not tell,
// or nil if w is not a terminal.
func NewScreen(w io.Writer, width func() int) *Screen { return &Screen{w: w, width: width} }

// Live reports whether an area can be shown.
func (s *Screen) Live() bool { return s.width != nil }

// Write writes p, above the area if there is one. Above an area, a line is shown when it has ended.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.area == nil {
		return s.w.Write(p)
	}
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 {
		s.rest = append(s.rest, p...)
		return len(p), nil
	}
	lines := append(s.rest, p[:end]...)
	s.rest = append([]byte(nil), p[end:]...)
	if _, err := s.area.Write(lines); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Show shows an area until hide is called: a bar of steps, with text beside it, and the lines
// below. text and lines are called whenever the area is drawn.
func (s *Screen) Show(steps int, text func() string, lines func() []string) (hide func()) {
	if !s.Live() {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out, width := s.w, s.width()
	if width <= 0 {
		// The wrapper keeps mpb from asking the terminal for its width.
		out, width = struct{ io.Writer }{s.w}, 80
	}
	s.area = mpb.New(mpb.WithOutput(out), mpb.WithWidth(width), mpb.WithRefreshRate(refreshRate), mpb.WithAutoRefresh())
	below := func(w io.Writer, stat decor.Statistics) error {
		var b strings.Builder
		for _, line := range lines() {
			b.WriteString(cut(line, stat.AvailableWidth-1) + "\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	// The bar never gets quite full: mpb stops drawing a full bar.
	s.bar = s.area.New(int64(steps)*fineness+1, mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
		mpb.BarWidth(24), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return text() })),
		mpb.BarExtender(mpb.BarFillerFunc(below), false))
	return s.hide
}

// Advance sets how many steps are done.
func (s *Screen) Advance(steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		s.bar.SetCurrent(int64(steps) * fineness)
	}
}

func (s *Screen) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar.Abort(true)
	s.area.Wait()
	s.area, s.bar = nil, nil
	if len(s.rest) > 0 {
		_, _ = s.w.Write(s.rest)
		s.rest = nil
	}
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width])
}
