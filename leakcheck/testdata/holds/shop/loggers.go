package shop

import (
	"bytes"
	"fmt"
	"log"
	"log/slog"
)

// A History is a writer that keeps every line.
type History struct{ Lines [][]byte }

// Write keeps a line.
func (h *History) Write(p []byte) (int, error) {
	h.Lines = append(h.Lines, bytes.Clone(p))
	return len(p), nil
}

// NewLogger makes a logger with 500 lines behind it.
func NewLogger() *log.Logger {
	l := log.New(&History{}, "shop: ", 0)
	for i := range 500 {
		l.Print("line ", i)
	}
	return l
}

// NewSlog makes a structured logger with as many lines behind it.
func NewSlog() *slog.Logger {
	h := &History{}
	for i := range 500 {
		fmt.Fprint(h, "line ", i)
	}
	return slog.New(slog.NewTextHandler(h, nil))
}

// A Configuration has a logger.
type Configuration struct {
	Name string
	Log  *log.Logger
	Slog *slog.Logger
}

// A Worker writes to a logger.
type Worker struct {
	ID   int
	Log  *log.Logger
	Slog *slog.Logger
}

var (
	Log     *log.Logger
	Config  *Configuration
	Workers []*Worker
	Loggers map[string]*log.Logger
)

func resetLoggers() { Log, Config, Workers, Loggers = nil, nil, nil, map[string]*log.Logger{} }
